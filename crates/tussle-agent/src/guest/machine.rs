//! Guests without a folder shared with the host: modules and run come with the guest, and results are sent to
//! a terminal device.

use std::ffi::CString;
use std::fs::{self, File};
use std::path::Path;

use anyhow::Context;
use nix::errno::Errno;
use nix::kmod::{ModuleInitFlags, finit_module};
use nix::sys::termios::{SetArg, cfmakeraw, tcdrain, tcgetattr, tcsetattr};

/// Folder of the modules. Each name sorts after those of its dependencies.
const MODULES: &str = "/modules";

/// Loads every module of the guest, with its parameters from the kernel's command line.
pub(super) fn load_modules() -> anyhow::Result<()> {
    let Ok(folder) = fs::read_dir(MODULES) else { return Ok(()) };
    let command_line = fs::read_to_string("/proc/cmdline").context("the kernel's command line")?;
    let mut files = folder.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<_>>>()?;
    files.sort();
    for file in files {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let parameters =
            CString::new(parameters(name.split_once('-').map_or("", |(_, name)| name), &command_line))?;
        match finit_module(File::open(&file)?, &parameters, ModuleInitFlags::empty()) {
            Ok(()) | Err(Errno::EEXIST) => {}
            Err(problem) => {
                return Err(problem).with_context(|| format!("loading the module {}", file.display()));
            }
        }
    }
    Ok(())
}

/// Parameters of a module: the words `MODULE.NAME=VALUE` of a command line, without the module.
fn parameters(module: &str, command_line: &str) -> String {
    let own = command_line.split_whitespace().filter_map(|word| word.strip_prefix(module)?.strip_prefix('.'));
    own.collect::<Vec<_>>().join(" ")
}

/// Sends a folder, as a tar archive, to a terminal device.
pub(super) fn send(folder: &Path, device: &str) -> anyhow::Result<()> {
    let terminal = File::options().read(true).write(true).open(device).with_context(|| device.to_owned())?;
    let mut settings = tcgetattr(&terminal)?;
    cfmakeraw(&mut settings);
    tcsetattr(&terminal, SetArg::TCSANOW, &settings)?;
    let mut archive = tar::Builder::new(&terminal);
    archive.append_dir_all("", folder)?;
    archive.finish()?;
    drop(archive);
    Ok(tcdrain(&terminal)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_gets_its_own_parameters() {
        let command_line = "quiet tcp_cubic.beta=512 tcp_bic.beta=1 tcp_cubic.hystart=0";
        assert_eq!(parameters("tcp_cubic", command_line), "beta=512 hystart=0");
        assert_eq!(parameters("tcp_vegas", command_line), "");
    }
}
