import Type from 'typebox';
import { endpoint } from './endpoint.ts';
import { DocumentedSubmit, readDefaults, submitDefaults, TaskParam, UnifiedTaskResponse } from './video.ts';

const VendorNativeBody = Type.Record(Type.String(), Type.Unknown());
/** Image fields of Kling's and Jimeng's bodies. */
const imageFields = ['image', 'image_tail', 'binary_data_base64'];
const submits = { ...submitDefaults, imageFields } as const;
const official = (path: string, summary: string) =>
  endpoint({ ...submits, path, summary, envelope: 'video', body: VendorNativeBody });
const officialQuery = (path: string, summary: string) =>
  endpoint({ ...readDefaults, path, summary, envelope: 'video', params: TaskParam, response: UnifiedTaskResponse });

export const klingText = official('/kling/v1/videos/text2video', "Start a video with Kling's own body, from text");
export const klingImage = official(
  '/kling/v1/videos/image2video',
  "Start a video with Kling's own body, from an image",
);
export const klingOmni = official(
  '/kling/v1/videos/omni-video',
  "Start a video with Kling's own body, from images, videos and elements",
);
export const klingOmniQuery = officialQuery('/kling/v1/videos/omni-video/:task_id', 'Get a task of this kind');
export const klingTextQuery = officialQuery('/kling/v1/videos/text2video/:task_id', 'Get a task of this kind');
export const klingImageQuery = officialQuery('/kling/v1/videos/image2video/:task_id', 'Get a task of this kind');
const jimeng = {
  ...submits,
  documentedResponse: Type.Union([DocumentedSubmit, UnifiedTaskResponse]),
  summary: "Start or query a video with Jimeng's own body; Action in the query decides",
  envelope: 'video',
  query: Type.Object({
    Action: Type.String({ maxLength: 60 }),
    Version: Type.Literal('2022-08-31'),
  }),
  body: VendorNativeBody,
} as const;
export const jimengAction = endpoint({ ...jimeng, path: '/jimeng/' });
/** For clients that omit the slash before the query string. */
export const jimengActionAlias = endpoint({ ...jimeng, path: '/jimeng' });

/** Kling's own envelope: `code` 0 and `data` as Kling documents it. */
const KlingResponse = Type.Object({
  code: Type.Literal(0),
  message: Type.String(),
  request_id: Type.String(),
  data: Type.Unknown({ description: "The task, or a list of tasks, in Kling's own format." }),
});
const klingNative = { envelope: 'kling', response: KlingResponse, documentedResponse: KlingResponse } as const;
const klingList = (path: string) =>
  endpoint({
    ...readDefaults,
    ...klingNative,
    path,
    summary: "List the tasks of this kind and key in Kling's own format",
    query: Type.Object({
      pageNum: Type.Optional(Type.String({ pattern: '^[1-9][0-9]{0,3}$' })),
      pageSize: Type.Optional(Type.String({ pattern: '^[1-9][0-9]{0,2}$' })),
    }),
  });
const klingGet = (path: string) =>
  endpoint({
    ...readDefaults,
    ...klingNative,
    path,
    params: TaskParam,
    summary: "Get a task of this kind by its id or external_task_id, in Kling's own format",
  });

/** Kling's API on Kling's own paths: an existing client only has to change its base URL. */
export const klingNativeText = endpoint({
  ...submits,
  ...klingNative,
  path: '/kling/native/v1/videos/text2video',
  summary: "Start a video from text, request and response in Kling's own format",
  body: VendorNativeBody,
});
export const klingNativeImage = endpoint({
  ...submits,
  ...klingNative,
  path: '/kling/native/v1/videos/image2video',
  summary: "Start a video from an image, request and response in Kling's own format",
  body: VendorNativeBody,
});
export const klingNativeOmni = endpoint({
  ...submits,
  ...klingNative,
  path: '/kling/native/v1/videos/omni-video',
  summary: "Start a video from images, videos and elements, request and response in Kling's own format",
  body: VendorNativeBody,
});
export const klingNativeOmniGet = klingGet('/kling/native/v1/videos/omni-video/:task_id');
export const klingNativeTextList = klingList('/kling/native/v1/videos/text2video');
export const klingNativeImageList = klingList('/kling/native/v1/videos/image2video');
export const klingNativeTextGet = klingGet('/kling/native/v1/videos/text2video/:task_id');
export const klingNativeImageGet = klingGet('/kling/native/v1/videos/image2video/:task_id');

const JimengResponse = Type.Object({
  code: Type.Integer(),
  data: Type.Unknown({ description: "The task's id, or its state and video_url." }),
  message: Type.String(),
  request_id: Type.String(),
  status: Type.Integer(),
  time_elapsed: Type.String(),
});
const jimengNativeAction = {
  ...jimeng,
  summary: "Start or query a video, request and response in Jimeng's own format; Action in the query decides",
  envelope: 'jimeng',
  response: JimengResponse,
  documentedResponse: JimengResponse,
} as const;
export const jimengNative = endpoint({ ...jimengNativeAction, path: '/jimeng/native/', isOtherSpelling: true });
export const jimengNativeAlias = endpoint({ ...jimengNativeAction, path: '/jimeng/native' });
