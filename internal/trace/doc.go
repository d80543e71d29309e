// Package trace answers why a packet goes where it goes. It copies a running switch,
// its program and all that was written to it, over P4Runtime into a switch in
// software, and sends a packet through the copy: the reference interpreter tells each
// step. The running switch is only read, so a trace disturbs no traffic and needs no
// rights but those of a reader. What the copy cannot have is the colour that a meter
// would give now: its meters are full, so all is green.
package trace
