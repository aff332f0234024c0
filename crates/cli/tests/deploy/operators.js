// Validates the resources of operators, read as JSON from standard input, with their schemas.
import { readFileSync } from "node:fs";
import { ScaledObject } from "@kubernetes-models/keda/keda.sh/v1alpha1/ScaledObject";
import { PrometheusRule } from "@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1/PrometheusRule";
import { ServiceMonitor } from "@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1/ServiceMonitor";

const kinds = { ScaledObject, PrometheusRule, ServiceMonitor };
for (const resource of JSON.parse(readFileSync(0, "utf8"))) {
  const kind = kinds[resource.kind];
  if (!kind) throw new Error(`no schema of ${resource.kind}`);
  new kind(resource).validate();
}
