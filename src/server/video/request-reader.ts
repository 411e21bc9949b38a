import { VideoBody } from '../../contract/video.ts';
import { AppError, invalidRequest } from '../platform/app-error.ts';
import type { UploadedFile } from '../platform/http/body.ts';
import type { ModelCaller } from '../platform/http/request-context.ts';
import { validatorFor } from '../platform/http/schema-validation.ts';
import { NO_IMAGES } from '../platform/json.ts';
import { sniffMedia } from '../platform/media-length.ts';
import {
  type GenerationRequest,
  type GenerationRequestBody,
  parseGenerationRequest,
  type RequestImages,
} from './generation-request.ts';
import type { InputResolver } from './input-resolver.ts';
import type { ModelChoice } from './model-choice.ts';
import { type InputSource, parseInputs, parseOperation } from './typed-inputs.ts';

interface RequestReaderDependencies {
  readonly inputs: Pick<InputResolver, 'find'>;
  readonly modelChoice: Pick<ModelChoice, 'defaultModel' | 'refusal'>;
}

/** The body of an edit or extension, which names the video in a field of its own. */
type ChangeBody = GenerationRequestBody & { readonly video?: string | { readonly id: string } };

/** Of a request whose images are texts of its body. */
const NO_FILES: RequestImages = { files: [], bodyImages: NO_IMAGES };

/** Reads the bodies of requests for videos, and fills in the models that they leave out. */
export class RequestReader {
  readonly #dependencies: RequestReaderDependencies;
  constructor(dependencies: RequestReaderDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Checks a body that no route has checked, by the rules of `POST /v1/videos`: arguments of a model's own schema are
   * allowed.
   * @throws AppError `invalid_request`
   */
  check(given: object): GenerationRequestBody {
    const checked = validatorFor(VideoBody)(given);
    if ('error' in checked) throw checked.error;
    return given as GenerationRequestBody;
  }

  /** @param needsModel the format has no default model */
  async read(
    body: GenerationRequestBody,
    caller: ModelCaller,
    images: RequestImages = NO_FILES,
    { needsModel = false }: { readonly needsModel?: boolean } = {},
  ): Promise<GenerationRequest> {
    const { modelChoice } = this.#dependencies;
    if (body.model !== undefined) return parseGenerationRequest(body, images, undefined);
    const model =
      (await this.#sourceModel(body, caller)) ?? (needsModel ? undefined : await modelChoice.defaultModel(caller));
    return parseGenerationRequest(body, images, model);
  }

  /** Reads an edit or extension in OpenAI's format. Without a model it has that of the video. */
  async readChange(
    operation: 'edit' | 'extend',
    { video, prompt = '', ...rest }: ChangeBody,
    caller: ModelCaller,
    { files, bodyImages }: RequestImages = NO_FILES,
  ): Promise<GenerationRequest> {
    const { inputs, modelChoice } = this.#dependencies;
    if (prompt.trim() === '') throw invalidRequest('prompt is required.', 'prompt');
    const file = files.find(({ field }) => field === 'video');
    const id = typeof video === 'string' ? video : video?.id;
    if (file === undefined && id === undefined) throw invalidRequest('video is required.', 'video');
    const found = id === undefined ? undefined : await inputs.find(id, caller);
    if (id !== undefined && found === undefined) throw new AppError('task_not_exist');
    const model = rest.model ?? found?.task?.model;
    if (model === undefined) throw await modelChoice.refusal(operation);
    const others = files.filter((each) => each !== file);
    const parsed = parseGenerationRequest(
      { ...rest, prompt, model, operation },
      { files: others, bodyImages },
      undefined,
    );
    const source = id === undefined ? toUploadedSource(file) : { fileId: id };
    const given = { param: 'video', type: 'video', role: 'source', source } as const;
    return { ...parsed, inputs: [given, ...(parsed.inputs ?? [])] };
  }

  /**
   * The model of an edit or extension that names none: that of the video it changes. Undefined for other requests.
   * @throws AppError with the models that can, for a source without a model
   */
  async #sourceModel(body: GenerationRequestBody, caller: ModelCaller): Promise<string | undefined> {
    const { inputs, modelChoice } = this.#dependencies;
    const operation = parseOperation(body.operation);
    if (operation === 'generate') return undefined;
    const given = parseInputs(body.inputs, [], NO_IMAGES);
    const source = given.find(({ role }) => role === 'source') ?? given.find(({ type }) => type !== 'image');
    const fileId = source !== undefined && 'fileId' in source.source ? source.source.fileId : undefined;
    const task = fileId === undefined ? undefined : (await inputs.find(fileId, caller))?.task;
    if (task === undefined) throw await modelChoice.refusal(operation);
    return task.model;
  }
}

/** @throws AppError for anything but a video */
function toUploadedSource(file: UploadedFile | undefined): InputSource {
  const media = file === undefined ? undefined : sniffMedia(file.bytes);
  if (file === undefined || media?.type !== 'video')
    throw invalidRequest('video is no video of a known kind (MP4, MOV, WebM).', 'video');
  return { bytes: file.bytes, mediaType: media.mediaType, filename: file.filename || 'video' };
}
