"""Admission webhooks for one namespace: one that nobody serves, and one that denies every pod."""

import base64
from typing import Final

from aiohttp import web

from tests.support.causes.case import Scene
from tests.support.controlplane.ports import LOOPBACK, Ports
from tests.support.tls_files import AUTHORITY, server_context

DENIAL: Final = "pods need an owner label"
DOWN: Final = "https://127.0.0.1:1/"
_PATH: Final = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"


async def webhook(scene: Scene, url: str) -> None:
    """Install a webhook for the pods of the scene's namespace, and wait until it is called."""
    config = {"url": url, "caBundle": base64.b64encode(AUTHORITY.read_bytes()).decode()}
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"]}
    hook = {
        "name": "owners.example.com",
        "clientConfig": config,
        "rules": [{**rule, "resources": ["pods"]}],
        "failurePolicy": "Fail",
        "sideEffects": "None",
        "timeoutSeconds": 5,
        "admissionReviewVersions": ["v1"],
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": scene.namespace}},
    }
    await scene.call("POST", _PATH, {"metadata": {"name": scene.namespace}, "webhooks": [hook]})
    await scene.until_refused()


async def denying_webhook(scene: Scene) -> str:
    """Serve a webhook that denies everything until the scene is over; its address."""
    ports = Ports()
    scene.resources.callback(ports.release)
    port = ports.take()
    app = web.Application()
    app.router.add_post("/", _deny)
    runner = web.AppRunner(app)
    await runner.setup()
    scene.resources.push_async_callback(runner.cleanup)
    await web.TCPSite(runner, LOOPBACK, port, ssl_context=server_context()).start()
    return f"https://{LOOPBACK}:{port}/"


async def _deny(request: web.Request) -> web.Response:
    asked = await request.json()
    answer = {"uid": asked["request"]["uid"], "allowed": False, "status": {"message": DENIAL}}
    kind = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}
    return web.json_response({**kind, "response": answer})
