# Shared by test.sh and test_all.sh: runs stages, times them and adds up what they report.
# A step must succeed; a runner must also print at least one line 'N passed, N failed', and its failures are
# added up. A step that fails and a runner that dies or reports nothing count as one failure.
# A conformance run that skipped something or fell back to another device counts as a failure too.
# Logs are kept in the folder logs of the build root.

. scripts/environment.sh
export KN_FALLBACK=off
export UBSAN_OPTIONS="${UBSAN_OPTIONS:-print_stacktrace=1}"
# What a shell may carry that would change what is built or where it runs; a container may lend fewer processors than
# the machine has.
unset CFLAGS CPPFLAGS LDFLAGS KN_ISA KN_DEVICE KN_REPRODUCIBLE
export KN_THREADS="${KN_THREADS:-$(processors)}"
logs=$root/logs
own_folder "$logs"
rm -f "$logs"/*.log "$logs"/*.end "$logs/waiting" "$logs/places"
total_passed=0
total_failed=0
failed_stages=""
stage_count=0
started=$(date +%s)

# Says what the run runs on, because a log is often all that is left of it.
describe_machine() {
    echo "$(uname -sm), $(nproc) processors, $(memory_gib) GiB, $jobs jobs, $KN_THREADS threads, tiers" $(machine_tiers)
    for tool in gcc clang cmake ninja python3 node qemu-aarch64 arm-none-eabi-gcc; do
        printf '  %s: %s\n' "$tool" "$("$tool" --version 2>&1 | head -n 1)"
    done
}

stage_report() { # stage_report NAME TEXT SECONDS
    printf '%-34s %-30s %5d s\n' "$1" "$2" "$3"
}

# stage_execute LOG COMMAND...: runs a stage into its log; status and seconds go to LOG's neighbour.
stage_execute() {
    execute_log=$1
    shift
    execute_start=$(date +%s)
    execute_status=0
    scripts/run_limited.py "${KN_STAGE_IDLE:-600}" "$@" >"$execute_log" 2>&1 </dev/null || execute_status=$?
    echo "$execute_status $(($(date +%s) - execute_start))" >"$execute_log.end"
}

# stage_account KIND NAME LOG: reads what a stage left and adds it up.
stage_account() {
    stage_kind=$1
    stage_name=$2
    stage_log=$3
    stage_status=1
    stage_seconds=0
    read -r stage_status stage_seconds <"$stage_log.end"
    stage_sums=$(sed -n 's/^\([0-9][0-9]*\) passed, \([0-9][0-9]*\) failed$/\1 \2/p' "$stage_log" |
        awk '{ p += $1; f += $2; n++ } END { printf "%d %d %d", p, f, n }')
    stage_passed=${stage_sums%% *}
    stage_lines=${stage_sums##* }
    stage_failed=${stage_sums#* }
    stage_failed=${stage_failed% *}
    if [ "$stage_kind" = "step" ]; then
        stage_passed=0
        stage_failed=0
        stage_text="done"
    else
        stage_text="$stage_passed passed, $stage_failed failed"
    fi
    if [ "$stage_status" -ne 0 ] && [ "$stage_failed" -eq 0 ]; then
        stage_failed=1
        stage_text="ended with status $stage_status"
    elif [ "$stage_kind" = "runner" ] && [ "$stage_lines" -eq 0 ]; then
        stage_failed=1
        stage_text="reported no result"
    elif grep -qE '^([1-9][0-9]* skipped, [0-9]+|0 skipped, [1-9][0-9]*) fell back$' "$stage_log"; then
        stage_failed=$((stage_failed + 1))
        stage_text=$(grep -E '^[0-9]+ skipped, [0-9]+ fell back$' "$stage_log" | tail -n 1)
    fi
    total_passed=$((total_passed + stage_passed))
    total_failed=$((total_failed + stage_failed))
    stage_report "$stage_name" "$stage_text" "$stage_seconds"
    if [ "$stage_failed" -ne 0 ]; then
        failed_stages="$failed_stages $stage_name;"
        echo "---- the end of $stage_log"
        tail -n 40 "$stage_log"
        echo "----"
    fi
}

next_log() {
    stage_count=$((stage_count + 1))
    stage_log=$logs/$(printf '%02d' "$stage_count")-$(echo "$1" | tr -cs 'a-zA-Z0-9\n' '-').log
}

stage_run() { # stage_run KIND NAME COMMAND...
    run_kind=$1
    run_name=$2
    shift 2
    next_log "$run_name"
    stage_execute "$stage_log" "$@"
    stage_account "$run_kind" "$run_name" "$stage_log"
}

step() { stage_run step "$@"; }
runner() { stage_run runner "$@"; }

# together NAME COMMAND...: a runner that may run beside others, as many at once as there are jobs; they are reported, in
# order, at 'join'. Two conformance runs side by side use two processors better than one with two threads. Each takes a
# line out of a pipe before it begins and puts it back when it ends. They begin in the order in which they are named.
together() {
    together_name=$1
    shift
    next_log "$together_name"
    if [ ! -p "$logs/places" ]; then
        mkfifo "$logs/places"
        exec 9<>"$logs/places"
        for place in $(seq "$jobs"); do echo "$place" >&9; done
    fi
    read -r place <&9
    {
        stage_execute "$stage_log" "$@" 9>&-
        echo "$place" >&9
    } &
    echo "$stage_log|$together_name" >>"$logs/waiting"
}

join() {
    wait
    [ -f "$logs/waiting" ] || return 0
    while IFS='|' read -r together_log together_name; do
        stage_account runner "$together_name" "$together_log"
    done <"$logs/waiting"
    rm -f "$logs/waiting"
}

# The tiers of the CPU kernels that this machine can run.
machine_tiers() {
    case "$(uname -m)" in
    x86_64)
        echo "scalar v2"
        if cpu_has avx2 fma bmi2 f16c; then echo "v3"; fi
        if cpu_has avx512f avx512bw avx512cd avx512dq avx512vl; then echo "v4"; fi
        ;;
    aarch64) echo "scalar neon" ;;
    *) echo "scalar" ;;
    esac
}

cpu_has() {
    for flag in "$@"; do
        grep -qw "$flag" /proc/cpuinfo || return 1
    done
}

# conformance PRESET [options]: the conformance of one build on every device and tier. The longest come first.
conformance() {
    conform_preset=$1
    shift
    conform_kiln=$root/$conform_preset/kiln
    for device in "autodiff(cpu)" "check(cpu,ref)" ref; do
        together "$conform_preset: $device" "$conform_kiln" conform --device "$device" "$@"
    done
    for tier in $(machine_tiers); do
        together "$conform_preset: cpu, $tier" env KN_ISA="$tier" "$conform_kiln" conform --device cpu "$@"
    done
    join
}

# Prints the sum as the last line; its status is that of the whole run.
finish() {
    if [ -n "$failed_stages" ]; then echo "failed:${failed_stages%;}"; fi
    stage_report "all stages" "$stage_count stages" $(($(date +%s) - started))
    echo "$total_passed passed, $total_failed failed"
    [ "$total_failed" -eq 0 ] && [ "$total_passed" -gt 0 ]
}
