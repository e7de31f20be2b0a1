// The module is built in a copy of its own sources: it has replace lines, which only a main
// module can have. go.sum verifies the copy.
module tfjob.test/scheduler-plugins

go 1.26.0

require sigs.k8s.io/scheduler-plugins v0.33.5
