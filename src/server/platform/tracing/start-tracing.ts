import { NO_TRACING, type Tracing, type TracingSettings } from './tracing.ts';

/** Loads the SDK only if an endpoint is configured: it takes some megabytes and a tenth of a second. */
export async function startTracing(
  settings: TracingSettings,
  process: { readonly instance: string; readonly version: string },
): Promise<Tracing> {
  const { otelSdkDisabled, otelExporterOtlpEndpoint: base } = settings;
  const url = settings.otelExporterOtlpTracesEndpoint ?? (base && `${base.replace(/\/$/, '')}/v1/traces`);
  if (otelSdkDisabled || url === undefined) return NO_TRACING;
  const { openOpenTelemetry } = await import('./open-telemetry.ts');
  return openOpenTelemetry(url, settings, process);
}
