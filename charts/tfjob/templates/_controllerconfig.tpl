{{- /* The controller configuration of tensorflow.org TfJobs, in the format of the operator of 2017. */ -}}

{{- define "tfjob.configMapName" -}}
{{- .Values.config.configmap | default "tf-job-operator-config" -}}
{{- end -}}

{{- define "tfjob.controllerConfig" -}}
{{- with .Values.tfImage -}}
tfImage: {{ . | quote }}
{{ end -}}
{{- if eq .Values.cloud "azure" -}}
accelerators:
  alpha.kubernetes.io/nvidia-gpu:
    volumes:
      - name: lib
        mountPath: /usr/local/nvidia/lib64
        hostPath: /usr/lib/nvidia-384
      - name: bin
        mountPath: /usr/local/nvidia/bin
        hostPath: /usr/lib/nvidia-384/bin
      - name: libcuda
        mountPath: /usr/lib/x86_64-linux-gnu/libcuda.so.1
        hostPath: /usr/lib/x86_64-linux-gnu/libcuda.so.1
{{- else if eq .Values.cloud "gke" -}}
# The nodes bring the drivers into every container that asks for them.
accelerators: {}
{{- end -}}
{{- end -}}
