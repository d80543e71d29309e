// Package stf reads and runs STF scripts: packets that go into a switch, packets
// that must come out, and the table entries between. The language is the one of the
// public P4 compiler's tests:
//
//	packet PORT HEX…            send a packet; the data may go on in the next lines
//	expect PORT [HEX…] [$]      a packet must come out: * is any digit, $ is its end
//	                            (without $ more may follow); no data: any packet
//	no_packet                   nothing came out for the last packet
//	add TABLE [PRIORITY] KEY:VALUE… ACTION(ARG:VALUE, …) [= HANDLE]
//	setdefault TABLE ACTION(ARG:VALUE, …)
//	remove all | remove TABLE [PRIORITY] KEY:VALUE…
//	check_counter NAME(INDEX|$HANDLE) [packets|bytes ==|!=|<|<=|>|>= N]
//	counter_write NAME INDEX PACKETS BYTES      counter_read NAME INDEX
//	register_write NAME INDEX VALUE…            register_read NAME INDEX [== VALUE…]
//	register_reset NAME
//	meter_set_rates NAME INDEX RATE:BURST RATE:BURST     per microsecond
//	meter_array_set_rates NAME RATE:BURST RATE:BURST
//	mirroring_add SESSION PORT                  mirroring_add_mc SESSION GROUP
//	mirroring_delete SESSION                    mirroring_get SESSION
//	mc_mgrp_create GROUP                        mc_node_create RID PORT…
//	mc_node_associate GROUP NODE                nodes count from 0
//	member_add PROFILE ID ACTION(ARG:VALUE, …)  group_add PROFILE ID MEMBER[*WEIGHT]…
//	value_set_add NAME VALUE…                   one value for each component
//	wait
//
// The last three additions are ours; an entry then names `member(ID)` or `group(ID)`
// in place of its action. A larger PRIORITY wins. VALUE is decimal, 0x, 0o or 0b
// with * for any digit, VALUE&&&MASK, VALUE/PREFIX or LOW->HIGH. Keys that an add does not name
// are wildcards (0 if exact). Objects and keys are named in full or by a suffix that
// is unambiguous.
//
// Packets that come out are compared port by port, in order, when the script ends.
// Only ports that the script mentions are looked at.
package stf
