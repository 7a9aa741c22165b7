#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The batch script of examples/slurm under a Slurm of its own: munged, slurmctld and slurmd of this machine, on
# loopback, with all their files in the test's folder, are started here and ended at the end. A search on two tasks
# loses one of them, is told that its time is up, is queued again each time, and comes to the bits of a search that
# nobody disturbed. Run by make check-long.
# usage: long_slurm.sh PROGRAM SOURCE_DIR

# shellcheck disable=SC1091,SC2034,SC2154 # cli.bash sets program, work, out, err and reads last, code
. "$(dirname "$0")/cli.bash"
. "$(dirname "$0")/mpi.bash"
script=$2/examples/slurm/learn.sbatch
PATH=$PATH:/usr/sbin:/sbin
for name in munged slurmctld slurmd sbatch; do
  command -v $name >/dev/null || { echo "skipped: no $name here (scripts/setup check)"; exit 77; }
done
cd "$work" || exit 1

# ---------------------------------------------------------------------------------------------
# A cluster of one node

daemons=()
# processes that Slurm started for us: they have our configuration in their environment
of_slurm() {
  grep -lzsx "SLURM_CONF=$work/slurm.conf" /proc/[0-9]*/environ | sed 's|/proc/||; s|/environ||' | grep -vx $$
}
is_empty() { [ -z "$(timeout 5 squeue --noheader 2>/dev/null)" ]; }
have_ended() { ! kill -0 "${daemons[@]}" 2>/dev/null; }
stop_slurm() {
  patience=300
  if ((${#daemons[@]} > 0)); then
    timeout 20 scancel --user="$(id -un)" 2>/dev/null
    wait_until is_empty
    kill "${daemons[@]}" 2>/dev/null
    wait_until have_ended
    mapfile -t left < <(of_slurm)
    kill -9 "${daemons[@]}" "${left[@]}" 2>/dev/null
  fi
  rm -rf "$work"
}
trap stop_slurm EXIT

node=$(hostname -s)
port=$((20000 + RANDOM % 20000))
mkdir state spool
head -c 1024 /dev/urandom >munge.key
chmod 400 munge.key
cat >slurm.conf <<END
ClusterName=mirrormap
SlurmctldHost=$node(127.0.0.1)
SlurmUser=$(id -un)
SlurmdUser=$(id -un)
AuthType=auth/munge
AuthInfo=socket=$work/munge.socket
SlurmctldPort=$port
SlurmdPort=$((port + 1))
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/spool
SlurmctldPidFile=$work/slurmctld.pid
SlurmdPidFile=$work/slurmd.pid
SlurmctldLogFile=$work/slurmctld.log
SlurmdLogFile=$work/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/linear
SchedulerParameters=sched_interval=1
ReturnToService=2
KillWait=5
MailProg=/bin/true
NodeName=$node NodeAddr=127.0.0.1 CPUs=$(nproc) State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE OverSubscribe=FORCE:2 State=UP
END
# later ones would ask for control groups although no plugin uses them
case $(slurmd -V) in "slurm-wlm 22."* | "slurm 22."*) ;; *) echo CgroupPlugin=disabled >cgroup.conf ;; esac
export SLURM_CONF=$work/slurm.conf

start() { # NAME ARGS...
  "$@" >>"$1.log" 2>&1 </dev/null &
  daemons+=($!)
}
give_up() {
  echo "skipped: $1 does not start here: $(tail -n 1 "$1.log" 2>/dev/null)"
  exit 77
}
start munged --foreground --force --num-threads=1 --key-file=munge.key --socket="$work/munge.socket" \
  --pid-file="$work/munge.pid" --log-file="$work/munge.log" --seed-file="$work/munge.seed"
wait_until test -S munge.socket || give_up munged
start slurmctld -D
start slurmd -D
answers() { timeout 5 scontrol ping 2>/dev/null | grep -q UP; }
is_idle() { timeout 5 sinfo --noheader --format=%t 2>/dev/null | grep -qx idle; }
wait_until answers || give_up slurmctld
wait_until is_idle || give_up slurmd
srun --mpi=list 2>&1 | grep -q pmix || { echo "skipped: this Slurm has no PMIx"; exit 77; }

# ---------------------------------------------------------------------------------------------
# Jobs

export PROGRAM=$program RUN=$work/search RESERVE=300
patience=3000
job=
submit() { # MINUTES
  last="sbatch learn.sbatch"
  job=$(timeout 20 sbatch --parsable --nodes=1 --ntasks-per-node=2 --cpus-per-task=1 --time="$1" --overcommit \
    --output="$work/job.log" "$script" 2>"$err")
  code=$?
  out=$work/job.log
}
is_in_state() { # STATE: of the job
  [ "$(timeout 5 squeue --noheader --states=all --jobs="$job" --format=%T 2>/dev/null)" = "$1" ]
}
task() { # K: the process that is task K
  local process
  for process in $(of_slurm); do
    [ "/proc/$process/exe" -ef "$program" ] || continue
    tr '\0' '\n' <"/proc/$process/environ" 2>/dev/null | grep -qx "SLURM_PROCID=$1" && echo "$process"
  done
}
has_task() { [ -n "$(task "$1")" ]; }
has_no_step() { ! of_slurm | sed 's|.*|/proc/&/cmdline|' | xargs grep -las '^slurmstepd' | grep -q .; }
listens() { # has task 0 come to where it heeds SIGINT?
  local mask
  mask=$(awk '/^SigCgt/ { print $2 }' "/proc/$(task 0)/status" 2>/dev/null)
  ((0x${mask:-0} & 2))
}
go_on() { # Slurm lets requeued jobs wait for two minutes, so that all of the last try is gone: that is enough
  expect "it is queued again" wait_until is_in_state PENDING
  expect_out 'in the queue again'
  expect "nothing of it is left" wait_until has_no_step
  sleep 2
  timeout 20 scontrol update "JobId=$job" StartTime=now
  expect "it runs again" wait_until has_task 1
  expect "it was tried $1 times" test "$(grep -c 'in the queue again' job.log)" -eq "$1"
}

export SEARCH="--env CartPole-v1 --population 6 --generations 3 --set steps=40960 --set validation_tasks=2"
read -ra search <<<"$SEARCH"
run learn "${search[@]}" --out whole --quiet
expect_code 0

submit 60
expect_code 0
expect "it begins" wait_until has_task 1
limit=$(tr '\0' ' ' <"/proc/$(task 0)/cmdline" | sed -n 's/.*--max-seconds \([0-9]*\).*/\1/p')
expect "its time is the job's, less the reserve: ${limit:-none}" test "${limit:-0}" -gt 3000 -a "${limit:-0}" -le 3300

# a task that dies
expect "the population is trained" wait_until in_generation search
kill -9 "$(task 1)"
go_on 1

# the signal before the time limit, which the batch shell gets
expect "it is at work" wait_until listens
timeout 20 scancel --batch --signal=USR1 "$job"
go_on 2
expect "Slurm counts" grep -q 'Restarts=2' <(scontrol show job "$job")

expect "it ends" wait_until is_in_state COMPLETED
expect_out "done: $RUN"
expect "on two ranks" grep -q '"ranks":2' search.json
out=$work/stdout
expect "the same bits as without Slurm" same whole search

# a mistake is not tried again
rm -rf search search.json*
: >job.log
SEARCH="--env NoSuchWorld" submit 10
expect "a mistake ends the job" wait_until is_in_state FAILED
expect_out "NoSuchWorld"
expect_out 'refused: see above'

((n_failed == 0)) || tail -n 20 job.log slurmctld.log slurmd.log
finish
