"""The fields of the built-in kinds, as a compact table.

One entry per type: `Name: field field:type …`, continued on indented lines. A field without a type
is a string. Types: `i` int32, `l` int64, `f` number, `b` bool, `x` int or string, `q` quantity,
`t` time, `y` base64 bytes, `*` anything, `?T` T or bool, `[T]` list, `{T}` map with string keys,
else the name of another entry.
"""

import re
from collections.abc import Mapping
from functools import cache

TABLE = """
ObjectMeta: name generateName namespace selfLink uid resourceVersion generation:l
  creationTimestamp:t deletionTimestamp:t deletionGracePeriodSeconds:l labels:{s} annotations:{s}
  ownerReferences:[OwnerReference] finalizers:[s] managedFields:[*]
OwnerReference: apiVersion kind name uid controller:b blockOwnerDeletion:b
LabelSelector: matchLabels:{s} matchExpressions:[LabelSelectorRequirement]
LabelSelectorRequirement: key operator values:[s]
LocalObjectReference: name
ObjectReference: kind namespace name uid apiVersion resourceVersion fieldPath
TypedLocalObjectReference: apiGroup kind name namespace
Condition: type status observedGeneration:l lastTransitionTime:t lastUpdateTime:t lastProbeTime:t
  lastHeartbeatTime:t reason message
Pod: kind apiVersion metadata:ObjectMeta spec:PodSpec status:PodStatus
PodTemplateSpec: metadata:ObjectMeta spec:PodSpec
PodSpec: volumes:[Volume] initContainers:[Container] containers:[Container]
  ephemeralContainers:[Container] restartPolicy terminationGracePeriodSeconds:l
  activeDeadlineSeconds:l dnsPolicy nodeSelector:{s} serviceAccountName serviceAccount
  automountServiceAccountToken:b nodeName hostNetwork:b hostPID:b hostIPC:b shareProcessNamespace:b
  securityContext:PodSecurityContext imagePullSecrets:[LocalObjectReference] hostname subdomain
  affinity:Affinity schedulerName tolerations:[Toleration] hostAliases:[HostAlias] priorityClassName
  priority:i dnsConfig:PodDNSConfig readinessGates:[PodReadinessGate] runtimeClassName
  enableServiceLinks:b preemptionPolicy overhead:{q}
  topologySpreadConstraints:[TopologySpreadConstraint] setHostnameAsFQDN:b os:PodOS hostUsers:b
  schedulingGates:[PodSchedulingGate] resourceClaims:[PodResourceClaim]
  resources:ResourceRequirements hostnameOverride workloadRef:* schedulingGroup:*
Container: name image command:[s] args:[s] workingDir ports:[ContainerPort] envFrom:[EnvFromSource]
  env:[EnvVar] resources:ResourceRequirements resizePolicy:[ContainerResizePolicy] restartPolicy
  restartPolicyRules:[*] volumeMounts:[VolumeMount] volumeDevices:[VolumeDevice] livenessProbe:Probe
  readinessProbe:Probe startupProbe:Probe lifecycle:Lifecycle terminationMessagePath
  terminationMessagePolicy imagePullPolicy securityContext:SecurityContext stdin:b stdinOnce:b tty:b
  targetContainerName
ContainerPort: name hostPort:i containerPort:i protocol hostIP
ContainerResizePolicy: resourceName restartPolicy
EnvFromSource: prefix configMapRef:OptionalReference secretRef:OptionalReference
OptionalReference: name optional:b
EnvVar: name value valueFrom:EnvVarSource
EnvVarSource: fieldRef:ObjectFieldSelector resourceFieldRef:ResourceFieldSelector
  configMapKeyRef:KeySelector secretKeyRef:KeySelector fileKeyRef:FileKeySelector
ObjectFieldSelector: apiVersion fieldPath
ResourceFieldSelector: containerName resource divisor:q
KeySelector: name key optional:b
FileKeySelector: volumeName path key optional:b
ResourceRequirements: limits:{q} requests:{q} claims:[ResourceClaim]
ResourceClaim: name request
VolumeMount: name readOnly:b recursiveReadOnly mountPath subPath mountPropagation subPathExpr
VolumeDevice: name devicePath
Probe: exec:ExecAction httpGet:HTTPGetAction tcpSocket:TCPSocketAction grpc:GRPCAction
  initialDelaySeconds:i timeoutSeconds:i periodSeconds:i successThreshold:i failureThreshold:i
  terminationGracePeriodSeconds:l
ExecAction: command:[s]
HTTPGetAction: path port:x host scheme httpHeaders:[HTTPHeader]
HTTPHeader: name value
TCPSocketAction: port:x host
GRPCAction: port:i service
Lifecycle: postStart:LifecycleHandler preStop:LifecycleHandler stopSignal
LifecycleHandler: exec:ExecAction httpGet:HTTPGetAction tcpSocket:TCPSocketAction sleep:SleepAction
SleepAction: seconds:l
SecurityContext: capabilities:Capabilities privileged:b seLinuxOptions:* windowsOptions:*
  runAsUser:l runAsGroup:l runAsNonRoot:b readOnlyRootFilesystem:b allowPrivilegeEscalation:b
  procMount seccompProfile:Profile appArmorProfile:Profile
Capabilities: add:[s] drop:[s]
Profile: type localhostProfile
PodSecurityContext: seLinuxOptions:* windowsOptions:* runAsUser:l runAsGroup:l runAsNonRoot:b
  supplementalGroups:[l] supplementalGroupsPolicy fsGroup:l sysctls:[Sysctl] fsGroupChangePolicy
  seccompProfile:Profile appArmorProfile:Profile seLinuxChangePolicy
Sysctl: name value
Affinity: nodeAffinity:* podAffinity:* podAntiAffinity:*
Toleration: key operator value effect tolerationSeconds:l
HostAlias: ip hostnames:[s]
PodDNSConfig: nameservers:[s] searches:[s] options:[DNSOption]
DNSOption: name value
PodReadinessGate: conditionType
TopologySpreadConstraint: maxSkew:i topologyKey whenUnsatisfiable labelSelector:LabelSelector
  minDomains:i nodeAffinityPolicy nodeTaintsPolicy matchLabelKeys:[s]
PodOS: name
PodSchedulingGate: name
PodResourceClaim: name resourceClaimName resourceClaimTemplateName
Volume: name hostPath:HostPathVolume emptyDir:EmptyDirVolume secret:SecretVolume
  persistentVolumeClaim:ClaimVolume downwardAPI:DownwardAPIVolume configMap:ConfigMapVolume
  projected:ProjectedVolume ephemeral:* nfs:NFSVolume csi:CSIVolume image:ImageVolume
  gcePersistentDisk:* awsElasticBlockStore:* gitRepo:* iscsi:* glusterfs:* rbd:* flexVolume:*
  cinder:* cephfs:* flocker:* fc:* azureFile:* vsphereVolume:* quobyte:* azureDisk:*
  photonPersistentDisk:* portworxVolume:* scaleIO:* storageos:*
HostPathVolume: path type
EmptyDirVolume: medium sizeLimit:q
SecretVolume: secretName items:[KeyToPath] defaultMode:i optional:b
ConfigMapVolume: name items:[KeyToPath] defaultMode:i optional:b
KeyToPath: key path mode:i
ClaimVolume: claimName readOnly:b
DownwardAPIVolume: items:[*] defaultMode:i
ProjectedVolume: sources:[*] defaultMode:i
NFSVolume: server path readOnly:b
CSIVolume: driver readOnly:b fsType volumeAttributes:{s} nodePublishSecretRef:LocalObjectReference
ImageVolume: reference pullPolicy
PodStatus: observedGeneration:l phase conditions:[Condition] message reason nominatedNodeName hostIP
  hostIPs:[*] podIP podIPs:[{*}] startTime:t initContainerStatuses:[ContainerStatus]
  containerStatuses:[ContainerStatus] qosClass ephemeralContainerStatuses:[ContainerStatus] resize
  resourceClaimStatuses:[*] extendedResourceClaimStatus:* allocatedResources:{q} resources:*
Service: kind apiVersion metadata:ObjectMeta spec:ServiceSpec status:ServiceStatus
ServiceSpec: ports:[ServicePort] selector:{s} clusterIP clusterIPs:[s] type externalIPs:[s]
  sessionAffinity loadBalancerIP loadBalancerSourceRanges:[s] externalName externalTrafficPolicy
  healthCheckNodePort:i publishNotReadyAddresses:b sessionAffinityConfig:* ipFamilies:[s]
  ipFamilyPolicy allocateLoadBalancerNodePorts:b loadBalancerClass internalTrafficPolicy
  trafficDistribution
ServicePort: name protocol appProtocol port:i targetPort:x nodePort:i
ServiceStatus: loadBalancer:* conditions:[Condition]
ConfigMap: kind apiVersion metadata:ObjectMeta immutable:b data:{s} binaryData:{y}
Secret: kind apiVersion metadata:ObjectMeta immutable:b data:{y} stringData:{s} type
Namespace: kind apiVersion metadata:ObjectMeta spec:NamespaceSpec status:NamespaceStatus
NamespaceSpec: finalizers:[s]
NamespaceStatus: phase conditions:[Condition]
ServiceAccount: kind apiVersion metadata:ObjectMeta secrets:[ObjectReference]
  imagePullSecrets:[LocalObjectReference] automountServiceAccountToken:b
PersistentVolumeClaim: kind apiVersion metadata:ObjectMeta spec:PersistentVolumeClaimSpec
  status:PersistentVolumeClaimStatus
PersistentVolumeClaimStatus: phase accessModes:[s] capacity:{q} conditions:[Condition]
  allocatedResources:{q} allocatedResourceStatuses:{s} currentVolumeAttributesClassName
  modifyVolumeStatus:*
PersistentVolumeClaimSpec: accessModes:[s] selector:LabelSelector resources:ResourceRequirements
  volumeName storageClassName volumeMode dataSource:TypedLocalObjectReference
  dataSourceRef:TypedLocalObjectReference volumeAttributesClassName
Event: kind apiVersion metadata:ObjectMeta involvedObject:ObjectReference reason message
  source:EventSource firstTimestamp:t lastTimestamp:t count:i type eventTime:t series:EventSeries
  action related:ObjectReference reportingComponent reportingInstance
EventSource: component host
EventSeries: count:i lastObservedTime:t
Endpoints: kind apiVersion metadata:ObjectMeta subsets:[*]
Node: kind apiVersion metadata:ObjectMeta spec:NodeSpec status:NodeStatus
NodeStatus: capacity:{q} allocatable:{q} phase conditions:[Condition] addresses:[{*}]
  daemonEndpoints:{*} nodeInfo:{*} images:[*] volumesInUse:[s] volumesAttached:[*] config:*
  runtimeHandlers:[*] features:* declaredFeatures:[s]
NodeSpec: podCIDR podCIDRs:[s] providerID unschedulable:b taints:[Taint] configSource:* externalID
Taint: key value effect timeAdded:t
Lease: kind apiVersion metadata:ObjectMeta spec:LeaseSpec
LeaseSpec: holderIdentity leaseDurationSeconds:i acquireTime:t renewTime:t leaseTransitions:i
  strategy preferredHolder
ResourceQuota: kind apiVersion metadata:ObjectMeta spec:ResourceQuotaSpec
  status:ResourceQuotaStatus
ResourceQuotaSpec: hard:{q} scopes:[s] scopeSelector:*
ResourceQuotaStatus: hard:{q} used:{q}
PriorityClass: kind apiVersion metadata:ObjectMeta value:i globalDefault:b description
  preemptionPolicy
Job: kind apiVersion metadata:ObjectMeta spec:JobSpec status:JobStatus
JobStatus: conditions:[Condition] startTime:t completionTime:t active:i succeeded:i failed:i
  terminating:i completedIndexes failedIndexes uncountedTerminatedPods:* ready:i
JobSpec: parallelism:i completions:i activeDeadlineSeconds:l podFailurePolicy:* successPolicy:*
  backoffLimit:i backoffLimitPerIndex:i maxFailedIndexes:i selector:LabelSelector manualSelector:b
  template:PodTemplateSpec ttlSecondsAfterFinished:i completionMode suspend:b podReplacementPolicy
  managedBy scheduling:*
Deployment: kind apiVersion metadata:ObjectMeta spec:DeploymentSpec status:DeploymentStatus
DeploymentStatus: observedGeneration:l replicas:i updatedReplicas:i readyReplicas:i
  availableReplicas:i unavailableReplicas:i terminatingReplicas:i conditions:[Condition]
  collisionCount:i
DeploymentStrategy: type rollingUpdate:RollingUpdateDeployment
RollingUpdateDeployment: maxUnavailable:x maxSurge:x
DeploymentSpec: replicas:i selector:LabelSelector template:PodTemplateSpec
  strategy:DeploymentStrategy minReadySeconds:i revisionHistoryLimit:i paused:b
  progressDeadlineSeconds:i
ReplicaSet: kind apiVersion metadata:ObjectMeta spec:ReplicaSetSpec status:ReplicaSetStatus
ReplicaSetStatus: replicas:i fullyLabeledReplicas:i readyReplicas:i availableReplicas:i
  terminatingReplicas:i observedGeneration:l conditions:[Condition]
ReplicaSetSpec: replicas:i minReadySeconds:i selector:LabelSelector template:PodTemplateSpec
CustomResourceDefinition: kind apiVersion metadata:ObjectMeta spec:CustomResourceDefinitionSpec
  status:{*}
CustomResourceDefinitionSpec: group names:CustomResourceDefinitionNames scope
  versions:[CustomResourceDefinitionVersion] conversion:{*} preserveUnknownFields:b
CustomResourceDefinitionNames: plural singular shortNames:[s] kind listKind categories:[s]
CustomResourceDefinitionVersion: name served:b storage:b deprecated:b deprecationWarning
  schema:CustomResourceValidation subresources:CustomResourceSubresources
  additionalPrinterColumns:[CustomResourceColumnDefinition] selectableFields:[SelectableField]
CustomResourceColumnDefinition: name type format description priority:i jsonPath
SelectableField: jsonPath
CustomResourceValidation: openAPIV3Schema:JSONSchemaProps
CustomResourceSubresources: status:* scale:CustomResourceSubresourceScale
CustomResourceSubresourceScale: specReplicasPath statusReplicasPath labelSelectorPath
JSONSchemaProps: id $schema $ref description type format title default:* maximum:f
  exclusiveMaximum:b minimum:f exclusiveMinimum:b maxLength:l minLength:l pattern maxItems:l
  minItems:l uniqueItems:b multipleOf:f enum:[*] maxProperties:l minProperties:l required:[s]
  items:JSONSchemaProps allOf:[JSONSchemaProps] oneOf:[JSONSchemaProps] anyOf:[JSONSchemaProps]
  not:JSONSchemaProps properties:{JSONSchemaProps} additionalProperties:?JSONSchemaProps
  patternProperties:{JSONSchemaProps} dependencies:* additionalItems:* definitions:* externalDocs:*
  example:* nullable:b x-kubernetes-preserve-unknown-fields:b x-kubernetes-embedded-resource:b
  x-kubernetes-int-or-string:b x-kubernetes-list-map-keys:[s] x-kubernetes-list-type
  x-kubernetes-map-type x-kubernetes-validations:[ValidationRule]
ValidationRule: rule message messageExpression reason fieldPath optionalOldSelf:b
ContainerStatus: name state:ContainerState lastState:ContainerState ready:b restartCount:i image
  imageID containerID started:b allocatedResources:* resources:* volumeMounts:[*] user:*
  allocatedResourcesStatus:[*] stopSignal
ContainerState: waiting:{*} running:{*} terminated:{*}
"""

Type = Mapping[str, str]


@cache
def types() -> Mapping[str, Type]:
    """Type name to field name to field type."""
    found: dict[str, Type] = {}
    for line in TABLE.strip().replace("\n  ", " ").splitlines():
        name, _, fields = line.partition(": ")
        pairs = (field.partition(":") for field in fields.split())
        found[name] = {field: kind or "s" for field, _, kind in pairs}
    return found


def fields_at(name: str, path: str) -> Type:
    """The fields of the object at a path such as `.spec.containers[0]` below a type."""
    for step in re.findall(r"[^.\[\]]+", re.sub(r"\[[^]]*\]", "", path)):
        name = types().get(name, {}).get(step, "").strip("[]{}?")
    return types().get(name, {})
