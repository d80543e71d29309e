// The same with copies, each of which egress changes in its own way.
#define COPIES
#include "written.p4"
