#!/bin/sh
# catena-guest 1 1cc93e1011dcf4ac
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export PATH
say() { if [ -w /dev/console ]; then echo "catena-guest: $*" >/dev/console; else echo "catena-guest: $*"; fi; }
fail() { say "failed 1cc93e1011dcf4ac: $*"; exit 1; }
last() { tail -n 3 "$dir/log" 2>/dev/null | tr '\r\n' '  '; }
try() { "$@" >>"$dir/log" 2>&1 || fail "$*: $(last)"; }
link() { for l in /sys/class/net/*; do if [ "$(cat "$l/address")" = "$1" ]; then echo "${l##*/}"; return; fi; done; return 1; }
# address MAC ADDRESS MTU: gives the interface with that MAC address its address.
address() {
	n=0
	until l=$(link "$1"); do
		n=$((n + 1))
		[ $n -lt 50 ] || fail "no interface has the MAC address $1"
		sleep 0.1
	done
	try ip link set "$l" mtu "$3" up
	try ip address replace "$2" dev "$l"
	sysctl -qw "net.ipv4.conf.$l.send_redirects=0" "net.ipv4.conf.$l.rp_filter=0" "net.ipv4.neigh.$l.retrans_time_ms=100" >/dev/null 2>&1
}
# keep PROGRAM…: runs it again when it ends.
keep() { (while :; do "$@" >>"$dir/log" 2>&1 </dev/null; echo "ended with $?" >>"$dir/log"; : >"$dir/ended"; sleep 1; done) & }
# once PROGRAM…: runs it, and remembers when it ends.
once() { ("$@" >>"$dir/log" 2>&1 </dev/null; echo "it ended with $?" >>"$dir/log"; : >"$dir/ended") & }
# answers ADDRESS PORT: waits until something listens there.
answers() {
	n=0
	until nc -z -w 1 "$1" "$2" 2>/dev/null; do
		[ ! -e "$dir/ended" ] || fail "$(last)"
		n=$((n + 1))
		[ $n -lt 300 ] || fail "nothing answers at $1 port $2: $(last)"
		sleep 0.1
	done
}
dir=/run/catena
rm -rf "$dir"
mkdir -p "$dir"
cd "$dir" || fail "there is no $dir"
: >"$dir/log"
sysctl -qw net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.default.rp_filter=0 >/dev/null 2>&1
ip link set lo up 2>/dev/null
hostname 'web-1' 2>/dev/null
address 02:00:00:00:00:01 10.62.1.20/24 1400
address 02:00:00:00:00:02 10.62.0.20/24 1500
try ip route replace default via 10.62.0.1
{
	echo nameserver 10.62.1.3
	echo nameserver 10.62.0.3
} >/etc/resolv.conf
keep catena-http --name 'web-1' --listen 0.0.0.0:8080
answers 10.62.1.20 8080
say "ready 1cc93e1011dcf4ac"
