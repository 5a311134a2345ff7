# expect: E2=finding
import os
import stat


class TenantDir:
    def __init__(self, root, tenant):
        if "/" in tenant or tenant in ("", ".", ".."):
            raise ValueError(tenant)
        self.path = os.path.join(root, tenant)
        if stat.S_ISLNK(os.lstat(self.path).st_mode):
            raise ValueError("link")

    def reset(self):
        os.rmdir(self.path)
