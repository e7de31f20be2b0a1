{{- /* Made from the code by `make generate`; not edited by hand. */ -}}

{{- define "tfjob.rules.kubeflow" -}}
# watch the jobs; get before an adoption and after a conflict; delete after
# ttlSecondsAfterFinished
- apiGroups: ["kubeflow.org"]
  resources: ["tfjobs"]
  verbs: ["get", "list", "watch", "delete"]
# write conditions and replica counts
- apiGroups: ["kubeflow.org"]
  resources: ["tfjobs/status"]
  verbs: ["update"]
# never sent; required by OwnerReferencesPermissionEnforcement to set blockOwnerDeletion on
# children
- apiGroups: ["kubeflow.org"]
  resources: ["tfjobs/finalizers"]
  verbs: ["update"]
{{- end -}}

{{- define "tfjob.rules.kubeflow.volcano" -}}
# one PodGroup per job, so that its pods are scheduled together
- apiGroups: ["scheduling.volcano.sh"]
  resources: ["podgroups"]
  verbs: ["get", "list", "watch", "create", "patch", "delete"]
{{- end -}}

{{- define "tfjob.rules.kubeflow.schedulerPlugins" -}}
# one PodGroup per job, so that its pods are scheduled together
- apiGroups: ["scheduling.x-k8s.io"]
  resources: ["podgroups"]
  verbs: ["get", "list", "watch", "create", "patch", "delete"]
{{- end -}}

{{- define "tfjob.rules.kubeflow.kubernetes" -}}
# one PodGroup per job, so that its pods are scheduled together
- apiGroups: ["scheduling.k8s.io"]
  resources: ["podgroups"]
  verbs: ["get", "list", "watch", "create", "patch", "delete"]
{{- end -}}

{{- define "tfjob.rules.tensorflow" -}}
# watch the jobs; get after a conflict; update to store defaults and the RuntimeId
- apiGroups: ["tensorflow.org"]
  resources: ["tfjobs"]
  verbs: ["get", "list", "watch", "update"]
# write conditions and replica counts
- apiGroups: ["tensorflow.org"]
  resources: ["tfjobs/status"]
  verbs: ["update"]
# never sent; required by OwnerReferencesPermissionEnforcement to set blockOwnerDeletion on
# children
- apiGroups: ["tensorflow.org"]
  resources: ["tfjobs/finalizers"]
  verbs: ["update"]
# one per replica, to run its pods; get when a name is taken; patch to suspend one that failed
# permanently
- apiGroups: ["batch"]
  resources: ["jobs"]
  verbs: ["get", "list", "watch", "create", "patch", "delete"]
# the program of default parameter servers; get when a name is taken
- apiGroups: [""]
  resources: ["configmaps"]
  verbs: ["get", "list", "watch", "create"]
# run the TensorBoard of a job; patch to suspend it; get when a name is taken
- apiGroups: ["apps"]
  resources: ["deployments"]
  verbs: ["get", "list", "watch", "create", "patch"]
{{- end -}}

{{- define "tfjob.rules.tensorstack" -}}
# watch the jobs; get before an adoption and after a conflict
- apiGroups: ["batch.tensorstack.dev"]
  resources: ["tensorflowtrainingjobs"]
  verbs: ["get", "list", "watch"]
# write conditions and replica counts
- apiGroups: ["batch.tensorstack.dev"]
  resources: ["tensorflowtrainingjobs/status"]
  verbs: ["update"]
# never sent; required by OwnerReferencesPermissionEnforcement to set blockOwnerDeletion on
# children
- apiGroups: ["batch.tensorstack.dev"]
  resources: ["tensorflowtrainingjobs/finalizers"]
  verbs: ["update"]
# run the TensorBoard of a job; patch to suspend it; get when a name is taken
- apiGroups: ["apps"]
  resources: ["deployments"]
  verbs: ["get", "list", "watch", "create", "patch"]
# request a TensorBoard from the controller of the T9k platform
- apiGroups: ["tensorstack.dev"]
  resources: ["tensorboards"]
  verbs: ["get", "list", "watch", "create", "patch"]
{{- end -}}

{{- define "tfjob.rules.tensorstack.t9k" -}}
# one PodGroup per job, so that its pods are scheduled together
- apiGroups: ["scheduler.tensorstack.dev"]
  resources: ["podgroups"]
  verbs: ["get", "list", "watch", "create", "patch", "delete"]
{{- end -}}

{{- define "tfjob.rules.tensorstack.volcano" -}}
# one PodGroup per job, so that its pods are scheduled together
- apiGroups: ["scheduling.volcano.sh"]
  resources: ["podgroups"]
  verbs: ["get", "list", "watch", "create", "patch", "delete"]
{{- end -}}

{{- define "tfjob.rules.jobs" -}}
# run the replicas; get when a name is taken, patch to adopt and release
- apiGroups: [""]
  resources: ["pods"]
  verbs: ["get", "list", "watch", "create", "patch", "delete"]
# one per replica, for its DNS name; get and patch as for pods
- apiGroups: [""]
  resources: ["services"]
  verbs: ["get", "list", "watch", "create", "patch", "delete"]
# record events of jobs; get and patch to update the count of earlier ones; list those of a pod
# that does not start or was killed although it has a probe
- apiGroups: [""]
  resources: ["events"]
  verbs: ["get", "list", "create", "patch"]
{{- end -}}

{{- define "tfjob.rules.cluster" -}}
# check whether the node of a stuck pod still exists
- apiGroups: [""]
  resources: ["nodes"]
  verbs: ["get"]
{{- end -}}

{{- define "tfjob.rules.leadership" -}}
# leader election
- apiGroups: ["coordination.k8s.io"]
  resources: ["leases"]
  verbs: ["create"]
- apiGroups: ["coordination.k8s.io"]
  resources: ["leases"]
  resourceNames: [{{ include "tfjob.leaseName" . | quote }}]
  verbs: ["get", "update"]
{{- end -}}

{{- define "tfjob.rules.metrics" -}}
# check the token of who reads the metrics
- apiGroups: ["authentication.k8s.io"]
  resources: ["tokenreviews"]
  verbs: ["create"]
# check whether they have the permission to
- apiGroups: ["authorization.k8s.io"]
  resources: ["subjectaccessreviews"]
  verbs: ["create"]
{{- end -}}

{{- define "tfjob.rules.priorities" -}}
# compute minResources of a PodGroup whose minMember is below the replica count
- apiGroups: ["scheduling.k8s.io"]
  resources: ["priorityclasses"]
  verbs: ["get"]
{{- end -}}
