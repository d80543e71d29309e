// An extern of Catena's own for programs of v1model: it runs in the kernel and in the
// interpreter, not on BMv2.

#ifndef _FLOW_STATE_P4_
#define _FLOW_STATE_P4_

/// State of flows, which packets read and write by key. The whole key
/// counts. When more than size keys are in use, one that has long been idle goes.
extern flow_state<K, V> {
    flow_state(bit<32> size);
    /// value is what was written last, V being a bit<W> up to 64 wide; 0 if nothing was, or if nobody
    /// has read or written it for longer than the seconds it was written with.
    void read(out V value, in K key);
    /// With 0 seconds, or value 0, there is nothing from now on.
    void write(in K key, in V value, in bit<32> seconds);
}

#endif
