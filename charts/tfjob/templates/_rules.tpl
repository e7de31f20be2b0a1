{{- /* Made from the code by `make generate`; not edited by hand. */ -}}

{{- define "tfjob.rules.kubeflow" -}}
# followed; read afresh before an adoption and after a conflict; deleted after
# ttlSecondsAfterFinished
- apiGroups: ["kubeflow.org"]
  resources: ["tfjobs"]
  verbs: ["get", "list", "watch", "delete"]
# conditions and counts
- apiGroups: ["kubeflow.org"]
  resources: ["tfjobs/status"]
  verbs: ["update"]
# never sent: servers that enforce permissions on owner references ask for it before a child may
# hold up the deletion of its job
- apiGroups: ["kubeflow.org"]
  resources: ["tfjobs/finalizers"]
  verbs: ["update"]
{{- end -}}

{{- define "tfjob.rules.kubeflow.volcano" -}}
# one group per job, so that its pods are placed together
- apiGroups: ["scheduling.volcano.sh"]
  resources: ["podgroups"]
  verbs: ["get", "list", "watch", "create", "patch", "delete"]
{{- end -}}

{{- define "tfjob.rules.kubeflow.schedulerPlugins" -}}
# one group per job, so that its pods are placed together
- apiGroups: ["scheduling.x-k8s.io"]
  resources: ["podgroups"]
  verbs: ["get", "list", "watch", "create", "patch", "delete"]
{{- end -}}

{{- define "tfjob.rules.tensorflow" -}}
# followed; read afresh after a conflict; completed with defaults and a RuntimeId
- apiGroups: ["tensorflow.org"]
  resources: ["tfjobs"]
  verbs: ["get", "list", "watch", "update"]
# conditions and counts
- apiGroups: ["tensorflow.org"]
  resources: ["tfjobs/status"]
  verbs: ["update"]
# never sent: servers that enforce permissions on owner references ask for it before a child may
# hold up the deletion of its job
- apiGroups: ["tensorflow.org"]
  resources: ["tfjobs/finalizers"]
  verbs: ["update"]
# one per replica, which makes its pods; get when a name is taken; patch suspends one whose end
# was permanent
- apiGroups: ["batch"]
  resources: ["jobs"]
  verbs: ["get", "list", "watch", "create", "patch", "delete"]
# the program of parameter servers without a template; get when a name is taken
- apiGroups: [""]
  resources: ["configmaps"]
  verbs: ["get", "list", "watch", "create"]
# the TensorBoard of a job; patch to put it to sleep; get when a name is taken
- apiGroups: ["apps"]
  resources: ["deployments"]
  verbs: ["get", "list", "watch", "create", "patch"]
{{- end -}}

{{- define "tfjob.rules.tensorstack" -}}
# followed; read afresh before an adoption and after a conflict
- apiGroups: ["batch.tensorstack.dev"]
  resources: ["tensorflowtrainingjobs"]
  verbs: ["get", "list", "watch"]
# conditions and counts
- apiGroups: ["batch.tensorstack.dev"]
  resources: ["tensorflowtrainingjobs/status"]
  verbs: ["update"]
# never sent: servers that enforce permissions on owner references ask for it before a child may
# hold up the deletion of its job
- apiGroups: ["batch.tensorstack.dev"]
  resources: ["tensorflowtrainingjobs/finalizers"]
  verbs: ["update"]
# the TensorBoard of a job; patch to put it to sleep; get when a name is taken
- apiGroups: ["apps"]
  resources: ["deployments"]
  verbs: ["get", "list", "watch", "create", "patch"]
# the TensorBoard of a job, where the platform's own controller runs it
- apiGroups: ["tensorstack.dev"]
  resources: ["tensorboards"]
  verbs: ["get", "list", "watch", "create", "patch"]
{{- end -}}

{{- define "tfjob.rules.tensorstack.t9k" -}}
# one group per job, so that its pods are placed together
- apiGroups: ["scheduler.tensorstack.dev"]
  resources: ["podgroups"]
  verbs: ["get", "list", "watch", "create", "patch", "delete"]
{{- end -}}

{{- define "tfjob.rules.tensorstack.volcano" -}}
# one group per job, so that its pods are placed together
- apiGroups: ["scheduling.volcano.sh"]
  resources: ["podgroups"]
  verbs: ["get", "list", "watch", "create", "patch", "delete"]
{{- end -}}

{{- define "tfjob.rules.jobs" -}}
# the replicas; get when a name is taken, patch to adopt and to let go
- apiGroups: [""]
  resources: ["pods"]
  verbs: ["get", "list", "watch", "create", "patch", "delete"]
# one per replica, for its address; get and patch as for pods
- apiGroups: [""]
  resources: ["services"]
  verbs: ["get", "list", "watch", "create", "patch", "delete"]
# what happened to a job; get and patch to count on what was told before
- apiGroups: [""]
  resources: ["events"]
  verbs: ["get", "create", "patch"]
{{- end -}}

{{- define "tfjob.rules.cluster" -}}
# whether the node of a pod that does not go away still exists
- apiGroups: [""]
  resources: ["nodes"]
  verbs: ["get"]
{{- end -}}

{{- define "tfjob.rules.leadership" -}}
# only one of several operators works
- apiGroups: ["coordination.k8s.io"]
  resources: ["leases"]
  verbs: ["create"]
- apiGroups: ["coordination.k8s.io"]
  resources: ["leases"]
  resourceNames: [{{ include "tfjob.leaseName" . | quote }}]
  verbs: ["get", "update"]
{{- end -}}

{{- define "tfjob.rules.priorities" -}}
# which replicas a group that is too small for all of them counts first
- apiGroups: ["scheduling.k8s.io"]
  resources: ["priorityclasses"]
  verbs: ["get"]
{{- end -}}
