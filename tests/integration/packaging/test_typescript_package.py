"""The package of the TypeScript client, as users install it: with strict programs, for ES modules and CommonJS."""

import json
import subprocess
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PACKAGE = ROOT / "clients" / "typescript"
TSC = ROOT / "node_modules" / "typescript" / "bin" / "tsc"

CLIENT = """
const stored = { id: "a", schedule: null, target: { type: "http", url: "https://example.com" } };
const bodies: unknown[] = [];
const duecourse = new Client("https://jobs.example", {
  token: process.env["NO_SUCH_VARIABLE"],
  fetch: async (request: Request) => {
    if (request.method === "PUT") bodies.push([await request.json(), request.headers.get("if-match")]);
    return new Response(JSON.stringify(stored), { headers: { etag: '"1"' } });
  },
});
"""

RIGHT = """
async function main(): Promise<void> {
  const job = await duecourse.getJob({ job_id: "a" });
  const changed = { ...job, payload: 1 };
  await duecourse.putJob({ job_id: "a", body: changed, ifMatch: changed.etag ?? undefined });
  await duecourse.putJob({ job_id: "a", body: { ...job, payload: 1 } });
  const named: Job = job;
  console.log(JSON.stringify([named.id, bodies]));
}
const unused = async (token: string | undefined, run: Run) => {
  await duecourse.listJobs({ total: true, tag: undefined, runs: 3, state: "PAUSED" });
  await duecourse.listRuns({ job_id: run.job_id, from: new Date(), to: "2026-11-21T00:00:00Z", caught_up: false });
  await duecourse.findRuns({ state: ["DEAD", "RETRYING"] });
  await duecourse.listDeadRuns({ since: new Date() });
  await duecourse.explainJob({ job_id: "a" });
  await duecourse.explainJob({ job_id: "a", at: new Date() });
  await duecourse.putJob({ job_id: "a", dry_run: true, body: { schedule: null, task: "t", start: undefined } });
  const job = { target: { type: "http", url: "https://example.com" }, overlap: "skip" } as const;
  await duecourse.putWorkflow({ workflow_id: "w", body: { schedule: null, jobs: { one: { job } } } });
  const workflow = await duecourse.getWorkflow({ workflow_id: "w" });
  await duecourse.putWorkflow({ workflow_id: "w", body: { ...workflow, payload: 1 } });
  const calendar = await duecourse.getCalendar({ calendar_id: "c" });
  await duecourse.putCalendar({ calendar_id: "c", body: { ...calendar, exclude: ["2026-12-25"] } });
  return Client.fromEnv({ token, retries: undefined });
};
const put = (jobs: Schemas["WorkflowRequest"]["jobs"]) =>
  duecourse.putWorkflow({ workflow_id: "w", body: { schedule: null, jobs } });
const wrong = async () => {
  // @ts-expect-error
  await duecourse.listJobs({ tag: new Date() });
  // @ts-expect-error
  await duecourse.listJobs({ state: ["PAUSED"] });
  // @ts-expect-error
  await duecourse.listJobs({ totla: true });
  // @ts-expect-error
  await duecourse.listRuns({ job_id: "a", state: "DAED" });
  const target = { type: "http", url: "https://example.com" } as const;
  // @ts-expect-error
  await duecourse.putJob({ job_id: "a", body: { schedule: null, target, tmezone: "UTC" } });
  // @ts-expect-error
  await put({ one: { job: { tarket: 1 } } });
  // @ts-expect-error
  await put({ one: { job: { target, id: "other" } } });
};
void [unused, wrong];
void main();
"""


@pytest.fixture(scope="module")
def tarball(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package, built and packed."""
    folder = tmp_path_factory.mktemp("packed")
    subprocess.run(["npm", "pack", "--pack-destination", str(folder)], cwd=PACKAGE, check=True, capture_output=True)
    (packed,) = folder.glob("*.tgz")
    return packed


def test_typescript_package_contains_its_license_and_no_sources(tarball: Path) -> None:
    with tarfile.open(tarball) as archive:
        names = {name.removeprefix("package/") for name in archive.getnames()}
    assert {"LICENSE", "README.md", "package.json", "dist/index.js", "dist/commonjs/index.js"} <= names
    assert not any(name.startswith(("src/", "test/")) for name in names)


@pytest.mark.parametrize(
    ("kind", "module", "resolution"),
    [("module", "Node16", "Node16"), ("commonjs", "Node16", "Node16"), ("commonjs", "CommonJS", "Node10")],
)
def test_typescript_package_compiles_and_runs_in_strict_programs(
    tarball: Path, tmp_path: Path, kind: str, module: str, resolution: str
) -> None:
    (tmp_path / "package.json").write_text(json.dumps({"name": "user", "private": True, "type": kind}))
    installed = ["npm", "install", "--offline", "--ignore-scripts", "--no-audit", "--no-fund", str(tarball)]
    subprocess.run(installed, cwd=tmp_path, check=True, capture_output=True)
    import_line = 'import { Client, type Job, type Run, type Schemas } from "duecourse";\n'
    (tmp_path / "program.ts").write_text(import_line + CLIENT + RIGHT)
    options = {
        "target": "ES2022",
        "lib": ["ES2023", "DOM", "DOM.Iterable"],
        "module": module,
        "moduleResolution": resolution,
        "strict": True,
        "exactOptionalPropertyTypes": True,
        "noUncheckedIndexedAccess": True,
        "noPropertyAccessFromIndexSignature": True,
        "skipLibCheck": False,
        "typeRoots": [str(ROOT / "node_modules" / "@types")],
        "types": ["node"],
    }
    (tmp_path / "tsconfig.json").write_text(json.dumps({"compilerOptions": options, "files": ["program.ts"]}))
    compiled = subprocess.run(["node", str(TSC)], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (compiled.returncode, compiled.stdout) == (0, "")
    done = subprocess.run(["node", "program.js"], cwd=tmp_path, capture_output=True, text=True, check=True)
    sent = {"id": "a", "schedule": None, "target": {"type": "http", "url": "https://example.com"}, "payload": 1}
    assert json.loads(done.stdout) == ["a", [[sent, '"1"'], [sent, None]]]
