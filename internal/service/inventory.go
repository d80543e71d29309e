package service

// InventoryOwner owns what is in an inventory and belongs to no service. No service
// can have this name.
var InventoryOwner = Owner{Project: "@cloud", Service: "@"}

// Inventory is what a node's switch carries beside the services: networks, groups
// and ports that the users of a cloud made. Objects are known by their ids in the
// cloud, which are also their names; the numbers are given by who merges the
// inventory with the services, and are 0 here. All lists are sorted by id.
//
// Ports and networks of services are in it, too, since the cloud does not tell
// them apart.
type Inventory struct {
	Networks []InventoryNetwork
	Groups   []SwitchGroup // RemoteGroup of rules is an id
	Ports    []InventoryPort
}

// InventoryNetwork is a network; Name is its id.
type InventoryNetwork struct {
	SwitchNetwork
	RouterID string // "": none
}

// InventoryPort is a port that is bound to the node; Port.Name and Port.ID are its id.
type InventoryPort struct {
	SwitchPort
	NetworkID string
	GroupIDs  []string
}
