{{- /* Made from the code by `make generate`; not edited by hand. */ -}}

{{- /* The enabled dialects, with what the chart needs to know about each. */ -}}
{{- define "tfjob.dialects" -}}
{{- if .Values.dialects.kubeflow }}
- name: kubeflow
  group: kubeflow.org
  plural: tfjobs
  shortName: tfj
  definition: files/crds/kubeflow.org_tfjobs.yaml
  isScaled: true
  arguments:
    - --enable-scheme=tfjob
  needs:
    - kubeflow
    {{- if eq (include "tfjob.gang" .) "volcano" }}
    - kubeflow.volcano
    {{- end }}
    {{- if eq (include "tfjob.gang" .) "schedulerPlugins" }}
    - kubeflow.schedulerPlugins
    {{- end }}
    {{- if eq (include "tfjob.gang" .) "kubernetes" }}
    - kubeflow.kubernetes
    {{- end }}
{{- end }}
{{- if .Values.dialects.tensorflow }}
- name: tensorflow
  group: tensorflow.org
  plural: tfjobs
  shortName: tfjalpha
  definition: files/crds/tensorflow.org_tfjobs.yaml
  isScaled: false
  arguments:
    - --enable-scheme=tfjob.tensorflow.org
    - --translate-legacy-gpu={{ .Values.operator.translateLegacyGpu }}
  needs:
    - tensorflow
{{- end }}
{{- if .Values.dialects.tensorstack }}
- name: tensorstack
  group: batch.tensorstack.dev
  plural: tensorflowtrainingjobs
  shortName: tj
  definition: files/crds/batch.tensorstack.dev_tensorflowtrainingjobs.yaml
  isScaled: false
  arguments:
    - --enable-scheme=tensorflowtrainingjob
    - --t9k-pod-group-backend={{ .Values.operator.t9kPodGroupBackend }}
  needs:
    - tensorstack
    {{- if eq .Values.operator.t9kPodGroupBackend "t9k" }}
    - tensorstack.t9k
    {{- end }}
    {{- if eq .Values.operator.t9kPodGroupBackend "volcano" }}
    - tensorstack.volcano
    {{- end }}
{{- end }}
{{- end -}}
