"""From a plan to the manifests with which kube-scheduler chooses it."""
