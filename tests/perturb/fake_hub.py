"""A data-set hub on loopback: as much of its protocol as pushing a data set and pulling it back needs.

Run: python fake_hub.py - prints its address, then a line for each request it doesn't know.
"""

import base64
import hashlib
import json
import re
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

COMMIT = "c" * 40


REPOSITORIES: dict[str, dict[str, bytes]] = {}
"""One revision of each repository: {repository: {path: bytes}}."""
PRIVATE: set[str] = set()
LARGE: dict[str, bytes] = {}


class Hub(BaseHTTPRequestHandler):
    """Answers from what stands in this process's memory."""

    protocol_version = "HTTP/1.1"

    def _answer(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length)
        if not self.path.startswith(OPEN) and self.headers.get("Authorization") != "Bearer hf_test":
            return self._send(401, {"error": "Invalid credentials"})
        path = self.path.partition("?")[0]
        for method, pattern, reply in ROUTES:
            match = re.fullmatch(pattern, path)
            if match and self.command in method:
                return reply(self, body, **match.groupdict())
        print("unknown:", self.command, self.path, flush=True)
        return self._send(404, {"error": "not found"})

    do_GET = do_HEAD = do_POST = do_PUT = _answer

    def _send(self, status, value, **headers) -> None:
        content = value if isinstance(value, bytes) else json.dumps(value).encode()
        self.send_response(status)
        for name, text in {"Content-Length": str(len(content)), **headers}.items():
            self.send_header(name.replace("_", "-"), text)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def whoami(self, body) -> None:
        self._send(200, {"type": "user", "name": "me", "auth": {"type": "access_token", "accessToken": {}}})

    def create(self, body) -> None:
        asked = json.loads(body)
        name = f"{asked.get('organization') or 'me'}/{asked['name']}"
        if name in REPOSITORIES:
            return self._send(409, {"error": "You already created this dataset repo", "url": self._url(name)})
        REPOSITORIES[name] = {}
        if asked.get("private") or asked.get("visibility") == "private":
            PRIVATE.add(name)
        return self._send(200, {"url": self._url(name), "name": name, "id": "1"})

    def _url(self, name) -> str:
        return f"http://{self.headers['Host']}/datasets/{name}"

    def info(self, body, repo) -> None:
        if repo not in REPOSITORIES:
            return self._send(404, {"error": "Repository not found"}, X_Error_Code="RepoNotFound")
        siblings = [{"rfilename": path} for path in REPOSITORIES[repo]]
        return self._send(
            200,
            {"id": repo, "sha": COMMIT, "private": repo in PRIVATE, "siblings": siblings, "tags": []},
        )

    def preupload(self, body, repo) -> None:
        """As the hub does: Parquet goes the way of large files, everything else into the commit."""
        names = [file["path"] for file in json.loads(body)["files"]]
        modes = {name: "lfs" if name.endswith(".parquet") else "regular" for name in names}
        files = [{"path": name, "uploadMode": mode, "shouldIgnore": False} for name, mode in modes.items()]
        self._send(200, {"files": files})

    def batch(self, body, repo) -> None:
        objects = json.loads(body)["objects"]
        for wanted in objects:
            wanted["actions"] = {"upload": {"href": f"http://{self.headers['Host']}/large/{wanted['oid']}"}}
        self._send(200, {"transfer": "basic", "objects": objects})

    def upload(self, body, oid) -> None:
        LARGE[oid] = body
        self._send(200, {})

    def commit(self, body, repo) -> None:
        for line in body.decode().splitlines():
            entry = json.loads(line)
            if entry["key"] == "file":
                REPOSITORIES[repo][entry["value"]["path"]] = base64.b64decode(entry["value"]["content"])
            elif entry["key"] == "lfsFile":
                REPOSITORIES[repo][entry["value"]["path"]] = LARGE[entry["value"]["oid"]]
            elif entry["key"] == "deletedFile":
                del REPOSITORIES[repo][entry["value"]["path"]]
        self._send(
            200, {"success": True, "commitOid": COMMIT, "commitUrl": f"{self._url(repo)}/commit/{COMMIT}"}
        )

    def tree(self, body, repo, folder=None) -> None:
        under = f"{folder}/" if folder else ""
        files = {path: data for path, data in REPOSITORIES[repo].items() if path.startswith(under)}
        if folder and not files:
            return self._send(404, {"error": "no such folder"}, X_Error_Code="EntryNotFound")
        entries = {path: _entry(path, data) for path, data in files.items()}
        if "recursive=true" not in self.path.lower():
            entries = {path: entry for path, entry in entries.items() if "/" not in path.removeprefix(under)}
        folders = {path.removeprefix(under).partition("/")[0] for path in files.keys() - entries.keys()}
        entries |= {f: {"type": "directory", "path": under + f, "oid": "0" * 40, "size": 0} for f in folders}
        return self._send(200, [*entries.values()])

    def paths_info(self, body, repo) -> None:
        files = REPOSITORIES[repo]
        asked = json.loads(body)["paths"]
        self._send(200, [_entry(path, files[path]) for path in asked if path in files])

    def resolve(self, body, repo, path) -> None:
        data = REPOSITORIES.get(repo, {}).get(path)
        if data is None:
            return self._send(404, {"error": "no such file"}, X_Error_Code="EntryNotFound")
        return self._send(200, data, ETag=f'"{_digest(data)}"', X_Repo_Commit=COMMIT)

    def good(self, body) -> None:
        self._send(200, {"errors": [], "warnings": []})

    def log_message(self, *_: object) -> None:
        pass


def _digest(data: bytes) -> str:
    return hashlib.sha1(data).hexdigest()


def _entry(path: str, data: bytes) -> dict:
    return {"type": "file", "path": path, "size": len(data), "oid": _digest(data)}


OPEN = ("/large/", "/api/validate-yaml")
REPO, REVISION = "(?P<repo>[^/]+/[^/]+)", f"(?:main|{COMMIT})"
ROUTES = (
    ("GET", "/api/whoami-v2", Hub.whoami),
    ("POST", "/api/repos/create", Hub.create),
    ("POST", "/api/validate-yaml", Hub.good),
    ("GET", f"/api/datasets/{REPO}(?:/revision/{REVISION})?", Hub.info),
    ("POST", f"/api/datasets/{REPO}/preupload/{REVISION}", Hub.preupload),
    ("POST", f"/datasets/{REPO}\\.git/info/lfs/objects/batch", Hub.batch),
    ("PUT", "/large/(?P<oid>[0-9a-f]+)", Hub.upload),
    ("POST", f"/api/datasets/{REPO}/commit/{REVISION}", Hub.commit),
    ("GET", f"/api/datasets/{REPO}/tree/{REVISION}(?:/(?P<folder>.*))?", Hub.tree),
    ("POST", f"/api/datasets/{REPO}/paths-info/{REVISION}", Hub.paths_info),
    ("GET HEAD", f"/datasets/{REPO}/resolve/{REVISION}/(?P<path>.+)", Hub.resolve),
)

if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    print(f"http://127.0.0.1:{server.server_address[1]}", flush=True)
    sys.exit(server.serve_forever())
