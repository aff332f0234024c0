//! The devices that compute: GPUs, if llama.cpp supports and finds any, or the processor.

use std::fmt;

use llama_cpp_2::{
    LlamaBackendDevice, LlamaBackendDeviceType, LogOptions, list_llama_ggml_backend_devices,
    send_logs_to_tracing,
};

use crate::cpu;

/// The devices of a model. `Display` names them for people, like `Vulkan0: NVIDIA T4`.
#[derive(Clone, Debug)]
pub struct Devices {
    /// Of one back end; empty if the processor computes everything.
    gpus: Vec<LlamaBackendDevice>,
    processor: String,
}

impl Devices {
    /// The devices of this machine. The first call starts the drivers of GPUs.
    #[must_use]
    pub fn find() -> Self {
        send_logs_to_tracing(LogOptions::default());
        #[cfg(feature = "cpu-variants")]
        load_variants();
        Self::choose(list_llama_ggml_backend_devices())
    }

    fn choose(mut all: Vec<LlamaBackendDevice>) -> Self {
        let is_processor = |device: &&LlamaBackendDevice| device.device_type == LlamaBackendDeviceType::Cpu;
        let processor = all.iter().find(is_processor).map(|device| device.description.clone());
        // An integrated GPU is used only if there is no other, as in llama.cpp itself.
        let kinds = [LlamaBackendDeviceType::Gpu, LlamaBackendDeviceType::IntegratedGpu];
        let first = kinds.iter().find_map(|kind| all.iter().find(|device| device.device_type == *kind));
        // A program with several back ends finds the same GPU through each.
        let chosen = first.map(|first| (first.device_type, first.backend.clone()));
        all.retain(|device| Some((device.device_type, device.backend.clone())) == chosen);
        Self { gpus: all, processor: processor.unwrap_or_default() }
    }

    #[must_use]
    pub fn without_gpus(self) -> Self {
        Self { gpus: Vec::new(), ..self }
    }

    #[must_use]
    pub fn has_gpu(&self) -> bool {
        !self.gpus.is_empty()
    }

    /// Whether there is a build of llama.cpp for this processor, which every model needs.
    #[must_use]
    pub fn has_processor(&self) -> bool {
        !self.processor.is_empty()
    }

    /// llama.cpp's indices of the GPUs.
    pub(super) fn gpu_indices(&self) -> Vec<usize> {
        self.gpus.iter().map(|gpu| gpu.index).collect()
    }
}

impl fmt::Display for Devices {
    fn fmt(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.gpus.is_empty() {
            return write!(text, "CPU: {} ({})", self.processor.trim(), cpu::build());
        }
        for (place, gpu) in self.gpus.iter().enumerate() {
            let separator = if place == 0 { "" } else { ", " };
            write!(text, "{separator}{}: {}", gpu.name, gpu.description.trim())?;
        }
        Ok(())
    }
}

/// Loads the variant for this machine's processor and the other back ends, from the program's folder or the build folder.
#[cfg(feature = "cpu-variants")]
fn load_variants() {
    use std::sync::Once;

    use llama_cpp_2::llama_backend::{load_backends, load_backends_from_path};

    static LOADED: Once = Once::new();
    LOADED.call_once(|| {
        if let Some(folder) = std::env::current_exe().ok().as_deref().and_then(std::path::Path::parent)
            && folder.to_str().is_some()
        {
            load_backends_from_path(folder);
        }
        if list_llama_ggml_backend_devices().is_empty() {
            load_backends();
        }
    });
}

#[cfg(test)]
mod tests {
    use llama_cpp_2::{LlamaBackendDevice, LlamaBackendDeviceType};

    use super::Devices;
    use crate::cpu;

    fn devices(all: &[(&str, LlamaBackendDeviceType)]) -> Devices {
        let device =
            |(index, (name, device_type)): (usize, &(&str, LlamaBackendDeviceType))| LlamaBackendDevice {
                index,
                name: (*name).to_owned(),
                description: format!("a {name} "),
                backend: name.trim_end_matches(char::is_numeric).to_owned(),
                memory_total: 0,
                memory_free: 0,
                device_type: *device_type,
            };
        Devices::choose(all.iter().enumerate().map(device).collect())
    }

    #[test]
    fn all_gpus_of_one_back_end_compute_and_those_of_the_chip_only_where_there_are_no_others() {
        use LlamaBackendDeviceType::{Accelerator, Cpu, Gpu, IntegratedGpu};
        let several = [
            ("Vulkan0", IntegratedGpu),
            ("CUDA0", Gpu),
            ("CUDA1", Gpu),
            ("Vulkan1", Gpu),
            ("BLAS", Accelerator),
            ("CPU", Cpu),
        ];
        let found = devices(&several);
        assert_eq!(found.gpu_indices(), [1, 2]);
        assert_eq!(found.to_string(), "CUDA0: a CUDA0, CUDA1: a CUDA1");
        let chip = devices(&[("Vulkan0", IntegratedGpu), ("CPU", Cpu)]);
        assert_eq!((chip.has_gpu(), chip.to_string()), (true, "Vulkan0: a Vulkan0".to_owned()));
    }

    #[test]
    fn without_gpus_the_processor_computes() {
        use LlamaBackendDeviceType::{Cpu, Gpu};
        let expected = format!("CPU: a CPU ({})", cpu::build());
        for found in [devices(&[("CPU", Cpu)]), devices(&[("CUDA0", Gpu), ("CPU", Cpu)]).without_gpus()] {
            assert_eq!((found.has_gpu(), found.to_string()), (false, expected.clone()));
        }
    }
}
