# Sourced, in the repository's root, by the scripts that build and test: makes them independent of the shell they are
# started from. Sets root (the folder of all builds) and jobs (how many compilers may run at once).
root=${KN_BUILD_ROOT:-build}
# own_folder PATH: makes a folder that 'make clean' may remove, known by a mark. One that was there before stays the user's.
own_folder() { [ -d "$1" ] || { mkdir -p "$1" && : >"$1/made-by-kiln-build"; }; }

own_folder "$root/tmp" || {
    echo "cannot write to $root; set KN_BUILD_ROOT to a folder that can be written" >&2
    exit 1
}

# A shell of su or of a service may lack the folders of administration, and dpkg needs them.
PATH=${PATH:+$PATH:}/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
LC_ALL=C.UTF-8
export PATH LC_ALL

# Caches of compilers go to the build folder where there is no home that can be written.
if [ -z "${HOME:-}" ] || ! [ -d "$HOME" ] || ! [ -w "$HOME" ]; then
    HOME=$(realpath "$root")/tmp
    export HOME
fi
# Tests run programs out of temporary folders, which a mount of /tmp may forbid.
TMPDIR=$(realpath "$root")/tmp
export TMPDIR

# Tests ask for absurd sizes on purpose; a sanitizer is to answer as malloc does.
for tool in ASAN TSAN MSAN; do
    eval "${tool}_OPTIONS=\"\${${tool}_OPTIONS:-allocator_may_return_null=1}\"; export ${tool}_OPTIONS"
done

# The number of processors, less where a container lends fewer, and at most one compiler per GiB of memory.
processors() {
    count=$(nproc)
    if [ -r /sys/fs/cgroup/cpu.max ]; then
        lent=$(awk '$1 != "max" && $2 > 0 { n = int(($1 + $2 - 1) / $2); print n < 1 ? 1 : n }' /sys/fs/cgroup/cpu.max)
        if [ -n "$lent" ] && [ "$lent" -lt "$count" ]; then count=$lent; fi
    fi
    echo "$count"
}

memory_gib() {
    total=$(awk '/^MemTotal:/ { print int($2 / 1048576) }' /proc/meminfo 2>/dev/null)
    if [ -r /sys/fs/cgroup/memory.max ]; then
        lent=$(awk '$1 != "max" { print int($1 / 1073741824) }' /sys/fs/cgroup/memory.max)
        if [ -n "$lent" ] && [ "$lent" -lt "${total:-0}" ]; then total=$lent; fi
    fi
    echo "${total:-1}"
}

jobs=${KN_JOBS:-}
if [ -z "$jobs" ]; then
    jobs=$(processors)
    room=$(memory_gib)
    if [ "$room" -lt "$jobs" ]; then jobs=$room; fi
    if [ "$jobs" -lt 1 ]; then jobs=1; fi
fi
