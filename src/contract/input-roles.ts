/** Media a video can be made from. */
export const INPUT_TYPES = ['image', 'video', 'audio'] as const;
/** Kind of media. */
export type InputType = (typeof INPUT_TYPES)[number];

/**
 * Uses of an input. `source` is the video to edit or extend; `reference` of an audio is the vendor's reference audio,
 * `voice` drives speech or lip-sync.
 */
export const INPUT_ROLES = ['first_frame', 'last_frame', 'keyframe', 'reference', 'source', 'voice', 'mask'] as const;
/** Use of an input. */
export type InputRole = (typeof INPUT_ROLES)[number];

/** Operations of a video request. */
export const VIDEO_OPERATIONS = ['generate', 'edit', 'extend'] as const;
/** One of them. */
export type VideoOperation = (typeof VIDEO_OPERATIONS)[number];

/** One input of a video. */
export interface VideoInput {
  /** May be omitted where the file shows it: everything but a URL or a file id. */
  readonly type?: InputType;
  /** Default: `first_frame` of a single image, `source` of a video to edit or extend, otherwise `reference`. */
  readonly role?: InputRole;
  /** An http(s) URL. */
  readonly url?: string;
  /** Id of an uploaded file. */
  readonly file_id?: string;
  /** Base64 or a data URL. */
  readonly data?: string;
  /** Seconds from the start, of a keyframe. */
  readonly at?: number;
  /** The name by which the prompt refers to this input, as `@name`. */
  readonly name?: string;
}
