{{- define "tfjob.testLabels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: test
sidecar.istio.io/inject: "false"
{{- end -}}

{{- /* The common part of test pods; `root` is the scope of the chart, `account` a service account. */ -}}
{{- define "tfjob.testPod" -}}
restartPolicy: Never
serviceAccountName: {{ .account }}
automountServiceAccountToken: true
{{- with .root.Values.image.pullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  {{- toYaml .root.Values.podSecurityContext | nindent 2 }}
{{- with .root.Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .root.Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}
