// Reads manifests into the Prometheus Operator's own types, and refuses fields that these do not have.
package main

import (
	"fmt"
	"os"

	v1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"sigs.k8s.io/yaml"
)

func main() {
	for _, path := range os.Args[1:] {
		text, err := os.ReadFile(path)
		if err == nil {
			var kind struct{ Kind string }
			if err = yaml.Unmarshal(text, &kind); err == nil {
				switch kind.Kind {
				case "ServiceMonitor":
					err = yaml.UnmarshalStrict(text, &v1.ServiceMonitor{})
				case "PrometheusRule":
					err = yaml.UnmarshalStrict(text, &v1.PrometheusRule{})
				default:
					err = fmt.Errorf("no kind of the operator: %s", kind.Kind)
				}
			}
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, path+":", err)
			os.Exit(1)
		}
	}
}
