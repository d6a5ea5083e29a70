import json, sys, time
from pathlib import Path
from collections import Counter
import pytest
sys.path.insert(0,'/work/main')
from tests.integration.api import test_fuzzed as tf
from tests.support.fuzz import fuzz
from tests.support.gateway import gateway
from tests.support.runs import TOKEN
from tests.support.api import Context
from tests.support.openapi import strict_document
from tests.conftest import *
from tests.integration.api.test_fuzzed import api, document
pytestmark=[]
def test_count(api, tables, tmp_path):
    ops=Counter(); why=Counter(); took=0
    from duecourse.http.routes import ROUTES
    def op(event):
        m=event["requestContext"]["http"]["method"]; p=event["requestContext"]["http"]["path"].split("/")
        for v,pat,*_ in ROUTES:
            w=pat.split("/")
            if v==m and len(w)==len(p) and all(a==b or a.startswith("<") for a,b in zip(w,p)): return f"{m} {pat}"
        return f"{m} ?"
    def handle(event):
        nonlocal took
        api.clock.advance(0.01); t=time.process_time()
        a=api.application(event, Context()); took+=time.process_time()-t
        o=op(event); ops[o]+=1
        if a["statusCode"]>=400:
            b=json.loads(a["body"]); why[(o,a["statusCode"],b["type"],b["errors"][0].get("pointer",b["errors"][0].get("header",b["errors"][0].get("parameter"))) if b.get("errors") else "")]+=1
        else: why[(o,a["statusCode"])]+=1
        return a
    doc=tmp_path/"openapi.json"; doc.write_text(json.dumps(strict_document()))
    t=time.time()
    with gateway(handle, {"operator": tf.CLAIMS}) as url:
        try: said=fuzz(doc,url,*sys.argv_extra,target="https://example.com/hook",run_token=str(TOKEN))
        except AssertionError as e: said=str(e)
    Path("/tmp/oa/count.txt").write_text(f"{time.time()-t} {took} {sum(ops.values())}\n"+"\n".join(f"{n} {o}" for o,n in ops.most_common())+"\n\n"+"\n".join(f"{n} {w}" for w,n in sorted(why.items(), key=lambda x:(x[0][0],-x[1])))+"\n"+said)
import os
sys.argv_extra=os.environ["FUZZ_ARGS"].split()
