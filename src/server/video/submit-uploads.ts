import { OutboundError } from '../platform/outbound/outbound.ts';
import type { AdapterContext } from '../upstreams/upstream.ts';
import type { VendorError } from '../upstreams/vendor-errors.ts';
import type {
  PendingUpload,
  RequestInput,
  SubmitOutcome,
  VendorAdapter,
  VendorUpload,
  VideoRequest,
} from '../vendors/adapter.ts';

/** The vendor refused to take a file. */
class UploadRefused extends Error {
  readonly error: VendorError;
  constructor(error: VendorError) {
    super(error.message);
    this.error = error;
  }
}

/**
 * Submits a request whose large files are first uploaded to the vendor. Its URIs are cached by file and account; one
 * that the vendor has forgotten is replaced once.
 *
 * @throws OutboundError as `submit` does; `mayHaveArrived` only of the submit itself, because an upload starts no job
 */
export async function submitWithUploads(
  request: VideoRequest,
  adapter: Pick<VendorAdapter, 'submit' | 'upload'>,
  context: AdapterContext,
): Promise<SubmitOutcome> {
  const { upload } = adapter;
  const pending = inputsOf(request).some(isPending);
  if (upload === undefined || !pending) return adapter.submit(request, context);
  const uris = new Map<string, string>();
  const send = async (rejected?: ReadonlyMap<string, string>): Promise<SubmitOutcome> => {
    for (const input of inputsOf(request))
      if (isPending(input)) {
        const { key } = input.upload;
        uris.set(key, await uriOf(input.upload, { upload, context, rejected: rejected?.get(key) }));
      }
    return adapter.submit(withUris(request, uris), context);
  };
  try {
    const outcome = await send();
    if (outcome.kind !== 'refused' || !upload.isForgotten(outcome.error)) return outcome;
    return await send(new Map(uris));
  } catch (error) {
    if (error instanceof UploadRefused) return { kind: 'refused', error: error.error, raw: null };
    throw error;
  }
}

type Pending = Extract<RequestInput, { readonly url: string }> & { readonly upload: PendingUpload };

const isPending = (input: RequestInput): input is Pending => 'url' in input && input.upload !== undefined;

const inputsOf = ({ images, videos = [], audios = [] }: VideoRequest): readonly RequestInput[] => [
  ...images,
  ...videos,
  ...audios,
];

async function uriOf(
  { key, mediaType, load }: PendingUpload,
  {
    upload,
    context,
    rejected,
  }: { readonly upload: VendorUpload; readonly context: AdapterContext; readonly rejected: string | undefined },
): Promise<string> {
  const make = async () => {
    const filename = `input.${mediaType.split('/')[1] ?? 'bin'}`;
    const sent = await upload.send({ bytes: await load(), mediaType, filename }, context);
    if ('error' in sent) throw new UploadRefused(sent.error);
    return { value: sent.uri, expiresAtMs: sent.expiresAtMs };
  };
  try {
    return await context.cachedSecret(`upload ${key}`, make, rejected);
  } catch (error) {
    if (error instanceof OutboundError && error.mayHaveArrived)
      throw new OutboundError(error.phase, `an upload failed: ${error.message}`, { mayHaveArrived: false });
    throw error;
  }
}

function withUris(request: VideoRequest, uris: ReadonlyMap<string, string>): VideoRequest {
  const replace = (inputs: readonly RequestInput[]): readonly RequestInput[] =>
    inputs.map((input) => {
      if (!isPending(input)) return input;
      const { upload, ...rest } = input;
      return { ...rest, url: uris.get(upload.key) ?? rest.url };
    });
  const { images, videos = [], audios = [] } = request;
  return { ...request, images: replace(images), videos: replace(videos), audios: replace(audios) };
}
