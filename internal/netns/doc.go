// Package netns is a thin layer over Linux network namespaces, veth pairs and
// the threads that enter them.
//
// A Dir is a folder of named namespaces (bind mounts of nsfs files, the format
// of `ip netns`, so that an operator can `ip netns exec NAME …`). An NS is one
// open namespace: code runs inside it with Do, sockets are opened inside it
// with DialContext, processes are started inside it with Start, and veth pairs
// into the caller's namespace are made with AddVeth.
//
// A Go program's goroutines wander between threads, and a namespace belongs to
// a thread. Every entry therefore locks the thread, restores the thread's own
// namespace before unlocking it, and when restoring fails leaves the thread
// locked so that the runtime throws it away instead of running other code in a
// foreign namespace.
package netns
