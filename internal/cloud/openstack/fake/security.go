package fake

import (
	"fmt"
	"net/http"
	"slices"
)

// typeNames are the kinds' in errors.
var typeNames = map[string]string{
	"networks": "Network", "subnets": "Subnet", "routers": "Router", "ports": "Port",
	"security-groups": "SecurityGroup", "security-group-rules": "SecurityGroupRule", "floatingips": "Floatingip",
}

// view is a resource as calls show it: a group has its rules in it.
func (c *Cloud) view(kind string, o object) object {
	if kind != "security-groups" {
		return o
	}
	out := object{"security_group_rules": []object{}}
	for k, v := range o {
		out[k] = v
	}
	for _, r := range sorted(c.neutron["security-group-rules"]) {
		if r["security_group_id"] == o["id"] {
			out["security_group_rules"] = append(out["security_group_rules"].([]object), r)
		}
	}
	return out
}

// countOf counts what a project has of a kind.
func (c *Cloud) countOf(project, kind string) int {
	n := 0
	for _, o := range c.neutron[kind] {
		if o["project_id"] == project {
			n++
		}
	}
	return n
}

// defaultGroup gives a project the group that it always has, and returns its id.
func (c *Cloud) defaultGroup(project string) string {
	for id, g := range c.neutron["security-groups"] {
		if g["project_id"] == project && g["name"] == "default" {
			return id
		}
	}
	g := object{"id": newID(), "name": "default", "description": "Default security group", "project_id": project, "tenant_id": project, "tags": []string{}}
	c.neutron["security-groups"][text(g["id"])] = g
	c.letOut(g)
	for _, family := range []string{"IPv4", "IPv6"} {
		c.addRule(g, object{"direction": "ingress", "ethertype": family, "remote_group_id": g["id"]})
	}
	return text(g["id"])
}

// letOut gives a new group its two rules.
func (c *Cloud) letOut(group object) {
	for _, family := range []string{"IPv4", "IPv6"} {
		c.addRule(group, object{"direction": "egress", "ethertype": family})
	}
}

// ruleFields are what tells two rules apart.
var ruleFields = []string{"direction", "ethertype", "protocol", "port_range_min", "port_range_max", "remote_ip_prefix", "remote_group_id"}

func (c *Cloud) addRule(group, rule object) {
	rule["id"], rule["security_group_id"], rule["project_id"], rule["name"] = newID(), group["id"], group["project_id"], ""
	for _, field := range ruleFields {
		if _, ok := rule[field]; !ok {
			rule[field] = nil
		}
	}
	c.neutron["security-group-rules"][text(rule["id"])] = rule
}

func (c *Cloud) completeGroup(_ Identity, o object) *problem {
	if o["name"] == "default" {
		return refuse(http.StatusConflict, "SecurityGroupDefaultAlreadyExists", "Default security group already exists.")
	}
	c.letOut(o)
	return nil
}

func (c *Cloud) completeRule(who Identity, o object, fill func(string, any)) *problem {
	group, p := c.find(who, "security-groups", text(o["security_group_id"]))
	if p != nil {
		return p
	}
	o["project_id"] = group["project_id"]
	fill("ethertype", "IPv4")
	for _, field := range ruleFields {
		fill(field, nil)
	}
	if d := o["direction"]; d != "ingress" && d != "egress" {
		return refuse(http.StatusBadRequest, "HTTPBadRequest", "Invalid input for direction. Reason: '%v' is not in ['ingress', 'egress'].", d)
	}
	if o["remote_group_id"] != nil {
		if o["remote_ip_prefix"] != nil {
			return refuse(http.StatusBadRequest, "SecurityGroupMultipleRemoteEntites", "Only remote_ip_prefix or remote_group_id may be provided.")
		}
		if _, p := c.find(who, "security-groups", text(o["remote_group_id"])); p != nil {
			return p
		}
	}
	low, hasLow := o["port_range_min"].(float64)
	high, hasHigh := o["port_range_max"].(float64)
	switch protocol := o["protocol"]; {
	case protocol == nil && (hasLow || hasHigh):
		return refuse(http.StatusBadRequest, "SecurityGroupProtocolRequiredWithPorts", "Must also specify protocol if port range is given.")
	case (protocol == "tcp" || protocol == "udp") && hasLow != hasHigh, hasHigh && !hasLow:
		return refuse(http.StatusBadRequest, "SecurityGroupInvalidPortRange", "For TCP/UDP protocols, port_range_min must be <= port_range_max")
	case (protocol == "tcp" || protocol == "udp") && hasLow && (low < 1 || low > high):
		return refuse(http.StatusBadRequest, "SecurityGroupInvalidPortValue", "Invalid value for port %v", low)
	}
	for id, other := range c.neutron["security-group-rules"] {
		same := other["security_group_id"] == o["security_group_id"]
		for _, field := range ruleFields {
			same = same && fmt.Sprint(other[field]) == fmt.Sprint(o[field])
		}
		if same {
			return refuse(http.StatusConflict, "SecurityGroupRuleExists", "Security group rule already exists. Rule id is %s.", id)
		}
	}
	return nil
}

// removeGroup checks that nobody is in a group, and removes all rules of it and about it.
func (c *Cloud) removeGroup(g object) *problem {
	if g["name"] == "default" {
		return refuse(http.StatusConflict, "SecurityGroupCannotRemoveDefault", "Insufficient rights for removing default security group.")
	}
	for _, port := range c.neutron["ports"] {
		if list, _ := port["security_groups"].([]any); slices.Contains(list, g["id"]) {
			return refuse(http.StatusConflict, "SecurityGroupInUse", "Security Group %v in use.", g["id"])
		}
	}
	for id, r := range c.neutron["security-group-rules"] {
		if r["security_group_id"] == g["id"] || r["remote_group_id"] == g["id"] {
			delete(c.neutron["security-group-rules"], id)
		}
	}
	return nil
}

// checkSecurity checks how a port is secured; change is what is new, nil: all.
func (c *Cloud) checkSecurity(who Identity, port, change object) *problem {
	groups, _ := port["security_groups"].([]any)
	pairs, _ := port["allowed_address_pairs"].([]any)
	for _, id := range groups {
		if _, p := c.find(who, "security-groups", text(id)); p != nil {
			return refuse(http.StatusNotFound, "SecurityGroupNotFound", "Security group %v does not exist", id)
		}
	}
	if port["port_security_enabled"] == true {
		return nil
	}
	switch {
	case len(groups) > 0 && change != nil && change["security_groups"] == nil:
		return refuse(http.StatusConflict, "PortSecurityPortHasSecurityGroup", "Port has security group associated. Cannot disable port security or IP address until security group is removed.")
	case len(groups) > 0:
		return refuse(http.StatusBadRequest, "PortSecurityAndIPRequiredForSecurityGroups", "Port security must be enabled and port must have an IP address in order to use security groups.")
	case len(pairs) > 0:
		return refuse(http.StatusConflict, "AddressPairAndPortSecurityRequired", "Port Security must be enabled in order to have allowed address pairs on a port.")
	}
	return nil
}

// quotaDetails tells a project's limits and use, as far as there are limits.
func (c *Cloud) quotaDetails(who Identity, r *http.Request) (int, any, *problem) {
	project := r.PathValue("id")
	if project != who.Project && !who.Admin {
		return 0, nil, refuse(http.StatusForbidden, "PolicyNotAuthorized", "Only admin is authorized to access quotas for another tenant")
	}
	out := object{}
	for kind, name := range singular {
		limit, limited := c.cfg.Quota[name]
		if !limited {
			limit = -1
		}
		out[name] = object{"limit": limit, "used": c.countOf(project, kind), "reserved": 0}
	}
	return http.StatusOK, object{"quota": out}, nil
}
