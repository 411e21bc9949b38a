import type { UpstreamAccount } from './adapter-context.ts';

/** Where an account is called: its base URL, and the options that say how the paths below it are written. */
export type UpstreamAddress = Pick<UpstreamAccount, 'baseUrl' | 'options'>;

const VERSION = String.raw`v\d+(?:\.\d+)?(?:(?:alpha|beta)\d*)?`;
/** A version at the end, or before the `/openai` under which Google and DeepInfra serve OpenAI's protocol. */
const NAMES_VERSION = new RegExp(String.raw`^[^:]+://[^/]+/(?:.*/)?${VERSION}(?:/openai)?$`, 'i');
const AT_END = new RegExp(`/${VERSION}(?:/openai)?$`, 'i');
const THROUGH_VERSION = new RegExp(String.raw`^(?:/[\w-]+)*?/${VERSION}(?=[/?]|$)`, 'i');

/**
 * The URL of an endpoint. A base URL whose path names a version is complete and replaces the path's own beginning up to its version;
 * below any other, the whole path is appended.
 *
 * @param path of the vendor's API, version included: `/v1/messages`, `/api/v3/contents/generations/tasks`
 */
export const endpointUrl = ({ baseUrl }: Pick<UpstreamAddress, 'baseUrl'>, path: string): string =>
  baseUrl + (NAMES_VERSION.test(baseUrl) ? path.replace(THROUGH_VERSION, '') : path);

/** A base URL without the version at its end, for vendors whose API has endpoints of several versions, or of none. */
export const withoutVersion = (baseUrl: string): string =>
  NAMES_VERSION.test(baseUrl) ? baseUrl.replace(AT_END, '') : baseUrl;

// Azure OpenAI

const AZURE_HOST = /\.(?:openai|cognitiveservices|services\.ai)\.azure\.(?:com|us|cn)$/i;
const AZURE_DEPLOYMENT = /\/openai\/deployments\/([^/]+)$/;
/** Endpoints below a deployment in the dated API; all others are the resource's. */
const OF_DEPLOYMENT = /^\/(?:chat\/completions|completions|embeddings|images\/|audio\/)/;
/** Exists in the v1 API alone. */
const WITHOUT_DATED_API = /^\/videos/;
/** The newest dated version that is generally available. */
const DEFAULT_API_VERSION = '2024-10-21';

/** Whether an upstream with OpenAI's protocol is Azure's: by `options.api: "azure"`, its host, or the path of a deployment. */
export const isAzure = ({ baseUrl, options }: UpstreamAddress): boolean =>
  options.api === 'azure' || AZURE_DEPLOYMENT.test(baseUrl) || AZURE_HOST.test(new URL(baseUrl).hostname);

/** The deployment that a base URL names; undefined: the model of each call names its own. */
export const azureDeployment = (baseUrl: string): string | undefined => AZURE_DEPLOYMENT.exec(baseUrl)?.[1];

/**
 * The URL of an endpoint of OpenAI's protocol. Azure has two forms of it: the dated API, whose path names the deployment, and the v1 API
 * (learn.microsoft.com/azure/foundry/openai/api-version-lifecycle).
 *
 * @param deployment the upstream's name of the model, which is the name of a deployment on Azure
 */
export function openaiUrl(address: UpstreamAddress, path: string, deployment = ''): string {
  if (!isAzure(address)) return endpointUrl(address, path);
  const { baseUrl, options } = address;
  const version =
    typeof options.api_version === 'string' && options.api_version !== '' ? options.api_version : undefined;
  const rest = path.replace(THROUGH_VERSION, '');
  const named = azureDeployment(baseUrl);
  const isDated = named !== undefined || (!NAMES_VERSION.test(baseUrl) && /^\d{4}-/.test(version ?? ''));
  if (isDated && !WITHOUT_DATED_API.test(rest)) {
    const root = `${baseUrl.replace(/\/openai(?:\/deployments\/[^/]+)?$/, '')}/openai`;
    const below = OF_DEPLOYMENT.test(rest) ? `/deployments/${named ?? encodeURIComponent(deployment)}` : '';
    return withApiVersion(root + below + rest, version ?? DEFAULT_API_VERSION);
  }
  const root = NAMES_VERSION.test(baseUrl)
    ? baseUrl
    : `${baseUrl.replace(/\/openai(?:\/deployments\/[^/]+)?$/, '')}/openai/v1`;
  return withApiVersion(root + rest, version);
}

const withApiVersion = (url: string, version: string | undefined): string =>
  version === undefined ? url : `${url}${url.includes('?') ? '&' : '?'}api-version=${encodeURIComponent(version)}`;
