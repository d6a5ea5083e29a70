# Shell functions of docs/runbooks.md, operations.md, upgrading.md, completeness.md and deleting.md. They need bash, the
# AWS command line (version 2) and jq, and the variables STAGE and AWS_REGION. Read them with: source docs/runbooks.sh

output() {    # output NAME: an output of the stack
    aws cloudformation describe-stacks --stack-name "Duecourse-$STAGE" \
        --query "Stacks[0].Outputs[?OutputKey=='$1'].OutputValue" --output text
}
queue_arn() {    # queue_arn OUTPUT: the ARN of a queue whose address is that output
    aws sqs get-queue-attributes --queue-url "$(output "$1")" --attribute-names QueueArn \
        --query Attributes.QueueArn --output text
}
ago() {    # ago HOURS: that instant, in the format of AWS
    python3 -c "import datetime as d; print(f'{d.datetime.now(d.timezone.utc) - d.timedelta(hours=$1):%Y-%m-%dT%H:%M:%SZ}')"
}
logged() {    # logged "OUTPUT ..." HOURS QUERY: a query of CloudWatch Logs Insights over these functions
    local groups=() each id
    for each in $1; do
        groups+=("$(aws lambda get-function-configuration --function-name "$(output "$each")" \
            --query LoggingConfig.LogGroup --output text)")
    done
    id=$(aws logs start-query --log-group-names "${groups[@]}" --start-time "$(($(date +%s) - 3600 * $2))" \
        --end-time "$(date +%s)" --query-string "$3" --query queryId --output text)
    [ -n "$id" ] || { echo "the query was not started: see the error above" >&2; return 1; }
    until aws logs get-query-results --query-id "$id" --query status --output text | grep -qE 'Complete|Fail|Canc|Time'
    do sleep 1; done
    aws logs get-query-results --query-id "$id" --query "results[*].[join(' | ', [?field!='@ptr'].value)]" --output text
}
actions() {    # actions "OUTPUT ..." HOURS ACTION...: the newest lines with these actions
    logged "$1" "$2" "filter action like /^($(IFS='|'; echo "${*:3}"))\$/ | fields @timestamp, action, level, shard, tenant, job_id, \
        run_id, workflow_run, item, slot, due, moved_to, first, last, count, message_id, function, queue, \
        queues, targets, overdue, messages, reason, error | sort @timestamp desc | limit 50"
}
counted() {    # counted "OUTPUT ..." HOURS ACTION...: their number by job and error
    logged "$1" "$2" "filter action like /^($(IFS='|'; echo "${*:3}"))\$/ | stats count() as lines by action, state, tenant, job_id, \
        reason, error | sort lines desc | limit 20"
}
crashes() {    # crashes "OUTPUT ..." HOURS: invocations that were killed
    logged "$1" "$2" "filter @message like /Task timed out|Runtime exited|OutOfMemory|ImportModuleError/ | stats count() by @log, bin(10m)"
}
event_sources() {    # event_sources OUTPUT: the event sources of a queue
    aws lambda list-event-source-mappings --event-source-arn "$(queue_arn "$1")" --query \
        "EventSourceMappings[].[UUID, State, StateTransitionReason, LastProcessingResult, ScalingConfig.MaximumConcurrency]" --output text
}
rule_of() {    # rule_of OUTPUT: the rule that starts a function
    aws events list-rule-names-by-target --query "RuleNames[0]" --output text --target-arn \
        "$(aws lambda get-function-configuration --function-name "$(output "$1")" --query FunctionArn --output text)"
}
rules() {    # the rules that start functions
    local each arn
    for each in TickFunction ReconcileFunction RepairFunction AuditFunction; do
        arn=$(aws lambda get-function-configuration --function-name "$(output "$each")" --query FunctionArn --output text)
        aws events list-rule-names-by-target --target-arn "$arn" --query "RuleNames[]" --output text
    done
}
sources() {    # the event sources of the shard queue, the lanes and the callbacks
    local each
    for each in ShardQueueUrl LaneHighUrl LaneNormalUrl LaneLowUrl LaneLongUrl LaneHighBulkUrl LaneNormalBulkUrl LaneLowBulkUrl LaneLongBulkUrl LaneCallbacksUrl; do
        aws lambda list-event-source-mappings --event-source-arn "$(queue_arn "$each")" \
            --query "EventSourceMappings[].UUID" --output text
    done
}
WORKERS="ExecuteHighFunction ExecuteNormalFunction ExecuteLowFunction ExecuteLongFunction"
