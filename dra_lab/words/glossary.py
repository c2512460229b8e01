"""What every figure on the screen counts and where it comes from: one table for all modes."""

from __future__ import annotations

from collections.abc import Mapping

GLOSSARY: Mapping[str, str] = {
    "unpaired": "How many of the GPUs have a NIC of their own on the same PCIe root, so that their traffic does not "
    "cross the processor. Each NIC counts for one GPU.",
    "numa": "How many NUMA nodes the allocated devices are on. Traffic between NUMA nodes crosses the link between "
    "the processors.",
    "roots": "How many PCIe roots the allocated GPUs and NICs are on.",
    "alternatives": "How far down its list of alternatives the claim is served. 0 is the first choice everywhere.",
    "preferences": "How many of the preferred links the allocation does not keep.",
    "damage": "How many copies of this claim fewer fit on the node once this plan is allocated there.",
    "proof": "Whether a better allocation can exist. The planner proves each goal with those above it kept.",
    "copies": "How many pods with this claim can start together as the cluster is now, on all nodes. Links that must "
    "hold are kept in each of them, preferred ones may be broken.",
    "manifest": "What kube-scheduler allocates on the best node with the YAML that you export. It takes the first "
    "devices that pass, and looks for nothing better.",
    "plain": "What kube-scheduler allocates on the best node if the claim asks for the same devices without any link.",
    "most": "How much of the claim the nearest node can serve, and how much it asks for.",
    "gangs": "How many of the wanted gangs have a place in this plan. A gang has all pods that it needs, or none.",
    "domains": "The racks, blocks or other domains in which the gangs are.",
    "levels": "In how many domains of their preferred level the gangs are. Fewer is nearer.",
    "nodes": "How many nodes have a pod of this plan.",
    "wanted": "How many pods of this workload the plan is asked for.",
    "placed": "How many of the wanted pods have a node and devices in this plan, of all workloads together.",
    "more": "How many more pods of this workload fit once this plan is allocated, each workload by itself.",
    "more gangs": "How many more such gangs fit once this plan is allocated, each with all pods that it needs.",
    "stranded": "How many devices are free, but of no use: no more pod of these workloads can use them and keep all "
    "its links.",
    "tried": "How many devices kube-scheduler has tested up to this step. A device counts each time that it is tested.",
    "rejected": "How many of these tests ended with no. The list says which test it was.",
    "given back": "How many devices kube-scheduler had allocated and gave back, because a later request found none.",
    "cluster": "The cluster that the plan was made for, as it was then.",
    "snapshot": "A short fingerprint of what the cluster published and had in use. Two that differ are two states.",
    "changes": "The what-if changes that the plan assumes.",
    "release": "The Kubernetes release that the manifests are for.",
    "fits": "On how many nodes the claim fits as the cluster was then.",
    "node": "The node with the best allocation.",
    "paired": "How many of the GPUs have a NIC of their own on the same PCIe root. Each NIC counts for one GPU.",
    "bandwidth": "How much of the bandwidth between a GPU and its NIC is left with this plan, for large transfers. "
    "100 % is what they reach on one PCIe root; the ranges are from published measurements, or your own.",
    "scheduler": "What kube-scheduler allocates with the exported YAML on every node that it may choose, from a "
    "simulation.",
    "scheduler-node": "Whether kube-scheduler, with the exported YAML, allocates devices on the best node that are "
    "as good as those of the plan.",
    "scheduler-bandwidth": "How much of that bandwidth is left with the devices that kube-scheduler allocates.",
    "devices": "The devices that the plan allocates.",
    "added": "How many lines each file gets that the file in the folder does not have. A new file is all added.",
    "removed": "How many lines of the file in the folder the export takes away. A file that you edited is kept unless "
    "you allow it.",
    "yaml": "How long the manifests are. The difference is against the first kept plan.",
}
"""What each figure counts, by the name of the figure or of its row in a comparison."""

FLEET_TERMS = {word: GLOSSARY[word] for word in ("wanted", "placed", "more", "stranded")}
"""The first words above the numbers of a fleet."""

EXPORT_TERMS = {word: GLOSSARY[word] for word in ("added", "removed")}
"""The words above the numbers of changed lines."""
