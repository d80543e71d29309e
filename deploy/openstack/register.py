#!/usr/bin/python3
"""Makes what the cloud's own APIs keep; what is there already stays.

register.py STATE REGION CONTROL identity    roles, users, projects, endpoints
register.py STATE REGION CONTROL resources   flavors, availability zone of the fake hosts
register.py STATE REGION CONTROL hosts NAME…
                                  waits until nova knows the hypervisors; those
                                  of the fake driver join zone `fake`
register.py STATE REGION CONTROL image       the guest image in STATE/image

One process for many calls: the `openstack` command takes 1.5 s for each.
"""
import os
import sys
import time

import openstack

SERVICES = {  # user: (type, URL)
    "glance": ("image", "http://{}:9292"),
    "placement": ("placement", "http://{}:8778"),
    "nova": ("compute", "http://{}:8774/v2.1"),
    "neutron": ("network", "http://{}:9696"),
}
FLAVORS = {"tiny": (128, 1), "small": (192, 1), "medium": (512, 1)}  # MiB, CPUs
HOST_WAIT = 90  # seconds
NAMES = ("ubuntu", "catena")  # of the guest image: what service files ask for, and its own
PROPERTIES = {
    "catena_guest": "1",  # says on the console when its user data is done
    "os_command_line": "console=ttyS0 root=/dev/vda quiet panic=1 mitigations=off random.trust_cpu=on ipv6.disable=1",
    "hw_rng_model": "virtio",
}


def identity(cloud, state, region, control):
    ident = cloud.identity

    def secret(name):
        with open(os.path.join(state, "secrets", name), encoding="utf-8") as f:
            return f.read()

    def role(name):
        return ident.find_role(name) or ident.create_role(name=name)

    def project(name):
        return ident.find_project(name) or ident.create_project(name=name, domain_id="default")

    def user(name, home, *roles):
        u = ident.find_user(name) or ident.create_user(
            name=name, password=secret(name), domain_id="default", default_project_id=home.id)
        for r in roles:
            ident.assign_project_role_to_user(home, u, r)
        return u

    admin, member, service = role("admin"), role("member"), role("service")
    services = project("service")
    known = {s.name: s for s in ident.services()}
    urls = {(e.service_id, e.interface) for e in ident.endpoints()}
    for name, (kind, url) in SERVICES.items():
        user(name, services, admin, service)
        entry = known.get(name) or ident.create_service(name=name, type=kind)
        for interface in ("public", "internal", "admin"):
            if (entry.id, interface) not in urls:
                ident.create_endpoint(service_id=entry.id, interface=interface,
                                      url=url.format(control), region_id=region)
    user("demo", project("demo"), member)


def resources(cloud):
    compute = cloud.compute
    flavors = {f.name for f in compute.flavors()}
    for name, (ram, vcpus) in FLAVORS.items():
        if name not in flavors:
            compute.create_flavor(name=name, ram=ram, vcpus=vcpus, disk=1)


def hosts(cloud, names):
    """The names of fake hosts start with `fake`, which puts them in a zone of their own:
    a server that asks for no zone is a real one."""
    compute = cloud.compute
    end = time.monotonic() + HOST_WAIT
    while missing := set(names) - {h.name for h in compute.hypervisors()}:
        if time.monotonic() > end:
            sys.exit(f"nova does not know {sorted(missing)} after {HOST_WAIT} s")
        time.sleep(0.5)
    zone = compute.find_aggregate("fake") or compute.create_aggregate(name="fake", availability_zone="fake")
    for name in names:
        if name.startswith("fake") and name not in (zone.hosts or []):
            zone = compute.add_host_to_aggregate(zone, name)


def image(cloud, state):
    """Kernel, initial RAM disk and root disk, started without a boot loader."""
    folder = os.path.join(state, "image")
    with open(os.path.join(folder, "version"), encoding="utf-8") as f:
        version = f.read().strip()
    glance = cloud.image
    have = {i.name: i for i in glance.images()}
    current = have.get(NAMES[-1])  # the last that is uploaded
    if current and current.properties.get("catena_version") == version:
        return

    def upload(name, kind, file, **properties):
        if old := have.get(name):
            glance.delete_image(old.id)
        return glance.create_image(name=name, filename=os.path.join(folder, file), disk_format=kind,
                                   container_format=kind if kind in ("aki", "ari") else "bare",
                                   visibility="public", wait=True, **properties).id

    kernel = upload("catena-kernel", "aki", "vmlinuz")
    ramdisk = upload("catena-initrd", "ari", "initrd")
    for name in NAMES:
        upload(name, "raw", "root.raw", kernel_id=kernel, ramdisk_id=ramdisk, catena_version=version, **PROPERTIES)


def main():
    state, region, control, what, *rest = sys.argv[1:]
    os.environ["OS_CLIENT_CONFIG_FILE"] = os.path.join(state, "clouds.yaml")
    cloud = openstack.connect(cloud="admin")
    if what == "identity":
        identity(cloud, state, region, control)
    elif what == "resources":
        resources(cloud)
    elif what == "hosts":
        hosts(cloud, rest)
    elif what == "image":
        image(cloud, state)
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
