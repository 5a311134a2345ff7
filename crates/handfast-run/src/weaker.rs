//! What a run does not give, by its wall and by what the kernel has: printed, or a reason to refuse.

use crate::plan::Net;
use crate::refusal::Refusal;
use crate::sys;

/// What the kernel does not give. Root without Landlock is refused: nothing else keeps uid 0 from
/// files that it owns.
pub(crate) fn whole(net: Net) -> Result<Vec<String>, Refusal> {
    let abi = sys::landlock_abi();
    let mut weaker = Vec::new();
    if abi == 0 && rustix::process::geteuid().is_root() {
        return Err(Refusal::system(
            "this kernel has no Landlock, which a run as root needs; run as an ordinary user",
        ));
    }
    if abi == 0 {
        weaker.push("Landlock is missing: the mounts alone keep the program in".to_owned());
    }
    if abi < 6 && net == Net::Host {
        weaker.push(
            "abstract Unix sockets of the host can be reached (needs Linux 6.12, or `--net none`)"
                .to_owned(),
        );
    }
    Ok(weaker)
}

/// What a run does not give where the kernel's own overlay shows the project.
pub(crate) fn fast(net: Net) -> Result<Vec<String>, Refusal> {
    let mut weaker = whole(net)?;
    weaker.push(
        "overlayfs: no file of the project is denied, and no single access is logged".to_owned(),
    );
    weaker.push(
        "overlayfs: what others change in the project meanwhile may be seen late or in part; it is a \
         conflict at commit where the program changed it too"
            .to_owned(),
    );
    Ok(weaker)
}

/// What a run does not give where the program builds namespaces of its own.
pub(crate) fn nested(net: Net) -> Result<Vec<String>, Refusal> {
    if rustix::process::geteuid().is_root() {
        return Err(Refusal::system(
            "`--nested` leaves out Landlock, which a run as root needs; run as an ordinary user",
        ));
    }
    let mut weaker = vec![
        "nested: the program may make namespaces and mounts of its own; Landlock is left out, and the \
         mounts alone keep the program in"
            .to_owned(),
        "nested: more of the kernel can be reached, and nothing in /proc is covered".to_owned(),
    ];
    if net == Net::Host {
        weaker.push(
            "nested: abstract Unix sockets of the host can be reached (`--net none` hides them)"
                .to_owned(),
        );
    }
    Ok(weaker)
}

/// What a run does not give where Landlock alone keeps the program in.
pub(crate) fn landlock_alone(net: Net) -> Result<Vec<String>, Refusal> {
    let abi = sys::landlock_abi();
    // Before, a program could cut off any file that its user may write to.
    if abi < 3 {
        return Err(Refusal::system(
            "this kernel's Landlock does not keep files from being cut off (needs Linux 6.2)",
        ));
    }
    if net == Net::None {
        return Err(Refusal::system(
            "Landlock alone cannot take the network away; the engine `fuse` can",
        ));
    }
    if rustix::process::geteuid().is_root() {
        return Err(Refusal::system(
            "Landlock alone cannot hide the keys in /etc from root's programs; run as an ordinary user",
        ));
    }
    let mut weaker = vec![
        "landlock: changes are made at once, nothing waits for review, and no file is logged"
            .to_owned(),
        "landlock: Unix sockets that have a path can be reached (D-Bus, docker, ssh-agent)"
            .to_owned(),
        "landlock: names and facts of all files are seen, and command lines of other processes"
            .to_owned(),
        "landlock: modes, owners, times and attributes can be changed wherever the user may"
            .to_owned(),
        "landlock: processes that the program leaves behind go on".to_owned(),
    ];
    if abi < 6 {
        let why = "landlock: signals reach the user's other processes, and abstract Unix sockets are reached \
             (needs Linux 6.12)";
        weaker.push(why.to_owned());
    }
    Ok(weaker)
}
