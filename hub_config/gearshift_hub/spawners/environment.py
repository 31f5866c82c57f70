"""What a workspace's server sees: its environment, its command line and the settings file all servers share."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from gearshift.model.app import APP_ENV, APP_PATH
from gearshift.model.launch import ImageRef, LaunchPlan

from gearshift_hub.images import kernel_parts
from gearshift_hub.images.environments import Environments
from gearshift_hub.paths import Home

PERSON_SITE = Path(__file__).with_name("person_site.py")
SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
POD_SYSTEM = {"LANG": "C.UTF-8", "TERM": "xterm-256color", "SHELL": "/bin/bash"}
THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")


def server_env(hub_env: dict[str, str], plan: LaunchPlan, home: Home, runtime_dir: str) -> dict[str, str]:
    """The whole environment, built from nothing: what is not named here does not reach a workspace."""
    settings = str(settings_folder(home))
    return {
        **_system(),
        "GEARSHIFT_IMAGE_PREFIX": sys.prefix,
        **_own(plan, settings, runtime_dir),
        **_image(plan.image, home),
        **plan.env,
        **hub_env,
        **_app(plan.image),
    }


def pod_env(hub_env: dict[str, str], plan: LaunchPlan, settings: str, runtime_dir: str) -> dict[str, str]:
    """The same in a pod, whose image says where its Python is."""
    return {**POD_SYSTEM, **_own(plan, settings, runtime_dir), **plan.env, **hub_env}


def _own(plan: LaunchPlan, settings: str, runtime_dir: str) -> dict[str, str]:
    return {
        **_person(plan),
        **_packages(plan, settings),
        **_jupyter(plan, settings),
        "JUPYTER_RUNTIME_DIR": runtime_dir,
        **{name: str(plan.limits.threads) for name in THREADS},
    }


def server_argv(plan: LaunchPlan) -> list[str]:
    """The command line; it says nothing of who or which secret.

    The secret that signs a browser's cookie belongs to the workspace, not to one tree: sign-ins outlive a switch. Lab
    reads the folders of its settings and layouts when it is imported, in a fork server before there is a person.
    """
    return [
        "jupyterhub-singleuser",
        f"--ServerApp.cookie_secret_file={plan.state_dir}/cookie_secret",
        f"--LabApp.user_settings_dir={plan.person.home}/.jupyter/lab/user-settings",
        f"--LabApp.workspaces_dir={_layouts(plan)}",
        f"--BaseFileIdManager.db_path={plan.state_dir}/documents/files.db",
        *plan.argv_extra,
    ]


def _layouts(plan: LaunchPlan) -> str:
    """Which tabs are open is a workspace's own; the home is shared by all of a person's."""
    return f"{plan.person.home}/.local/share/gearshift/workspaces/{plan.workspace.name}/lab"


def server_settings(documents_on_server: bool) -> dict[str, Any]:
    """Settings of every workspace's server; a person's own settings in the home come after them."""
    return {
        "ServerApp": {
            "jpserver_extensions": {
                "gearshift.lab": True,
                "jupyter_lsp": False,
                "notebook_shim": False,
                "jupyter_server_proxy": False,
                **dict.fromkeys(DOCUMENT_EXTENSIONS, documents_on_server),
            },
            "disable_check_xsrf": False,
            "quit_button": False,
            "terminals_enabled": True,
        },
        "KernelManager": {"transport": "ipc"},
        "FileContentsManager": {"files_handler_class": "gearshift.lab.files.PersonFiles"},
        "MappingKernelManager": {"cull_idle_timeout": 0, "buffer_offline_messages": not documents_on_server},
        "YDocExtension": {"ystore_class": "gearshift.lab.documents.update_store.UpdateStore"},
        "LabApp": {
            "news_url": None,
            "check_for_updates_class": "jupyterlab.NeverCheckForUpdate",
            "extension_manager": "readonly",
        },
    }


LANGUAGE_SERVER_PLUGINS = (
    "@jupyterlab/lsp-extension",
    "@jupyterlab/fileeditor-extension:language-server",
    "@jupyterlab/notebook-extension:language-server",
)
"""Their server side is off: it looks for language servers with npm at each start."""


PROXY_PAGES = "@jupyterhub/jupyter-server-proxy"
"""Its server side is off too: it opens every port of the box to the page; our extension uses it for one app alone."""


DOCUMENT_EXTENSIONS = ("jupyter_server_fileid", "jupyter_server_ydoc")
"""The shared document's server half; its page half is the two below."""
DOCUMENT_PAGES = ("@jupyter/docprovider-extension", "@jupyter/collaboration-extension")
PEOPLE_IN_PAGES = (
    "@jupyter/collaboration-extension:rtcPanel",
    "@jupyter/collaboration-extension:shared-link",
    "@jupyter/collaboration-extension:userMenu",
    "@jupyter/collaboration-extension:user-menu-bar",
    "@jupyter/docprovider-extension:notebook-cell-executor",
    "@jupyter/docprovider-extension:statusBarTimeline",
)
"""Cells are sent by our own plugin, and nothing is drawn of what is not built: workspaces are not shared yet."""


def page_settings(documents_on_server: bool) -> dict[str, Any]:
    """Settings of every Lab page: extensions come ready built, so there is nothing to build and nothing to check."""
    documents = PEOPLE_IN_PAGES if documents_on_server else DOCUMENT_PAGES
    return {
        "buildAvailable": False,
        "buildCheck": False,
        "disabledExtensions": dict.fromkeys((*LANGUAGE_SERVER_PLUGINS, PROXY_PAGES, *documents), True),
    }


def settings_files(documents_on_server: bool) -> dict[str, str]:
    """The three files by name, for a place that is no folder here."""
    return {
        "jupyter_server_config.json": json.dumps(server_settings(documents_on_server), indent=1),
        "page_config.json": json.dumps(page_settings(documents_on_server), indent=1),
        "sitecustomize.py": PERSON_SITE.read_text(),
    }


def settings_folder(home: Home) -> Path:
    return home.run / "jupyter"


FIRST_SETTINGS = "labconfig/default_setting_overrides.json"
LAB_LOCALES = {"zh": "zh_CN"}
"""Language of the deployment -> what Lab calls it, until a person chooses their own; Lab itself is English."""


def first_settings(language: str) -> dict[str, Any]:
    """What Lab's settings are before a person changes them."""
    locale = LAB_LOCALES.get(language)
    return {"@jupyterlab/translation-extension:plugin": {"locale": locale}} if locale else {}


def write_settings(home: Home, documents_on_server: bool, language: str = "en") -> None:
    """Put the settings where every uid can read and nobody but us can write them."""
    folder = settings_folder(home)
    for place in (folder, folder / "labconfig", folder / "python"):
        place.mkdir(mode=0o755, exist_ok=True)
        place.chmod(0o755)
    files = settings_files(documents_on_server)
    for below in ("jupyter_server_config.json", "labconfig/page_config.json", "python/sitecustomize.py"):
        _publish(folder / below, files[Path(below).name])
    _publish(folder / FIRST_SETTINGS, json.dumps(first_settings(language), indent=1))
    kernel_parts.put(home)


def _publish(file: Path, text: str) -> None:
    file.write_text(text)
    file.chmod(0o644)


def _system() -> dict[str, str]:
    return {
        "PATH": f"{Path(sys.executable).parent}:{SYSTEM_PATH}",
        "LANG": os.environ.get("LANG") or "C.UTF-8",
        "TERM": "xterm-256color",
        "SHELL": "/bin/bash",
        **({"TZ": os.environ["TZ"]} if os.environ.get("TZ") else {}),
    }


def _person(plan: LaunchPlan) -> dict[str, str]:
    home = str(plan.person.home)
    cache = f"{home}/.cache"
    return {
        "HOME": home,
        "USER": plan.person.slug,
        "LOGNAME": plan.person.slug,
        "JUPYTERHUB_ROOT_DIR": home,
        "TORCHINDUCTOR_CACHE_DIR": f"{cache}/torchinductor",
        "TRITON_CACHE_DIR": f"{cache}/triton",
    }


def _packages(plan: LaunchPlan, settings: str) -> dict[str, str]:
    """What a person installs stays with the image and Python that it was installed for (case C08)."""
    family = f"{plan.image.id}-py{plan.image.python}"
    return {
        "PYTHONNOUSERSITE": "1",
        "PYTHONPATH": f"{settings}/python",
        "GEARSHIFT_PACKAGES": f"{plan.person.home}/.local/share/gearshift/packages/{family}",
    }


def _image(image: ImageRef, home: Home) -> dict[str, str]:
    """Kernels and terminals of another image than our own environment, in which the server itself stays."""
    if not image.prefix:
        return {}
    return {
        "PATH": f"{image.prefix}/bin:{SYSTEM_PATH}",
        "JUPYTER_PATH": str(Environments(home).kernels(image.digest)),
        "GEARSHIFT_IMAGE_PREFIX": image.prefix,
        "GEARSHIFT_KERNEL_PARTS": str(kernel_parts.folder(home)),
    }


def _app(image: ImageRef) -> dict[str, str]:
    """What the server starts beside itself, and opens in place of Lab."""
    if image.app is None:
        return {}
    return {APP_ENV: image.app.model_dump_json(), "JUPYTERHUB_DEFAULT_URL": f"/{APP_PATH}/"}


def _jupyter(plan: LaunchPlan, settings: str) -> dict[str, str]:
    return {
        "JUPYTER_CONFIG_PATH": settings,
        "JUPYTERLAB_WORKSPACES_DIR": _layouts(plan),
        "JUPYTERHUB_DEFAULT_URL": "/lab",
    }
