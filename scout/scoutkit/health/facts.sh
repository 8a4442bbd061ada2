#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Prints the facts that a host knows of itself, one on each line, for facts.py; judges nothing. Arguments: interfaces to look at.
# Needs no privilege. A command that may hang has a time limit, so that the other facts are still told.

PATH=$PATH:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
LC_ALL=C
export PATH LC_ALL

# The agent that runs this lies where the others were installed or built: these are meant, not what else is in PATH.
agent=$(readlink "/proc/$PPID/exe" 2>/dev/null)
[ "${agent##*/}" != scremote ] || PATH=${agent%/*}:${agent%/*}/../bin:$PATH

echo "clock $(date +%s%N)"
echo "kernel $(uname -r)"

# Slurm has a scrun as well, so a package gives ours a second name. Each says which program it is.
for program in scrun scnoded pm-ethernetd; do
	for name in "openscore-$program" "$program"; do
		version=$(timeout 5 "$name" --version 2>/dev/null) || continue
		case $version in
		"$program "*) echo "version $program ${version##* }" && break ;;
		esac
	done
done

if command -v munge >/dev/null && command -v unmunge >/dev/null; then
	credential=$(timeout 5 munge -n ${SCORE_MUNGE_SOCKET:+"--socket=$SCORE_MUNGE_SOCKET"} 2>&1)
	status=$?
	said=$credential
	if [ "$status" = 0 ]; then
		said=$(printf '%s' "$credential" |
			timeout 5 unmunge ${SCORE_MUNGE_SOCKET:+"--socket=$SCORE_MUNGE_SOCKET"} 2>&1 >/dev/null)
		status=$?
	fi
	echo "munge $status $(printf '%s' "$said" | head -n 1)"
fi

# A network file system that has lost its server makes df hang.
timeout 5 df -k --output=file,pcent,ipcent,avail,target / /tmp /var /dev/shm 2>/dev/null |
	while read -r file blocks inodes available target; do
		[ "$file" = File ] || echo "disk $file ${blocks%\%} ${inodes%\%} $available $target"
	done

# pm-ethernetd holds this name for as long as it lives. A list of processes would show those of other containers.
grep -q ' @pm-ethernetd$' /proc/net/unix && echo "daemon pm-ethernetd"

for interface; do
	place=/sys/class/net/$interface
	if [ ! -d "$place" ]; then
		echo "rail $interface missing 0 0 0"
		continue
	fi
	state=$(cat "$place/operstate" 2>/dev/null)
	carrier=$(cat "$place/carrier" 2>/dev/null) # fails while the interface is down
	speed=$(cat "$place/speed" 2>/dev/null)     # fails where there is none
	echo "rail $interface ${state:-unknown} ${carrier:-0} ${speed:-0} $(cat "$place/mtu")"
done

while read -r key amount _; do
	case $key in
	MemTotal:) total=$amount ;;
	MemAvailable:) echo "memory $total $amount" ;;
	esac
done </proc/meminfo

echo "clock $(date +%s%N)"
echo end
