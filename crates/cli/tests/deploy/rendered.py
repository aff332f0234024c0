"""Reads YAML from standard input, validates Kubernetes' own resources with its schemas, and writes everything as JSON."""

import json
import sys

import kubernetes_validate
import yaml

documents = [it for it in yaml.safe_load_all(sys.stdin) if it]
for document in documents:
    if "apiVersion" in document and ".coreos.com/" not in document["apiVersion"] and "keda.sh/" not in document["apiVersion"]:
        for version in sys.argv[1:]:
            kubernetes_validate.validate(document, version, strict=True)
json.dump(documents, sys.stdout)
