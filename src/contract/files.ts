import Type, { type Static } from 'typebox';
import { endpoint } from './endpoint.ts';
import { FILE_LIFETIME_SECONDS, FILE_PURPOSES } from './file-purposes.ts';
import { Done, Ok } from './responses.ts';

/** A file of OpenAI's Files API. Times in Unix seconds. */
export const FileObject = Type.Object({
  id: Type.String(),
  object: Type.Literal('file'),
  bytes: Type.Integer({ description: 'Size in bytes.' }),
  created_at: Type.Integer({ description: 'Time of the upload; Unix seconds.' }),
  expires_at: Type.Integer({ description: 'When the file is deleted; Unix seconds.' }),
  filename: Type.String({ description: 'Name as uploaded, without folders.' }),
  purpose: Type.String({ description: 'vision, user_data or batch; batch_output for the files of an ended batch.' }),
  status: Type.Literal('processed'),
  mime_type: Type.String({ description: 'Determined by the content, not by the name.' }),
  sha256: Type.String({ description: 'Hexadecimal; quoted, it is the ETag of the content.' }),
  uploaded_by: Type.Optional(Type.String({ description: 'The member who uploaded it for an organization.' })),
});
export type FileObject = Static<typeof FileObject>;

/** Files in OpenAI's format of lists. */
export const FileList = Type.Object({
  object: Type.Literal('list'),
  data: Type.Array(FileObject),
  first_id: Type.Union([Type.String(), Type.Null()]),
  last_id: Type.Union([Type.String(), Type.Null()]),
  has_more: Type.Boolean(),
});

const FileParam = Type.Object({ file_id: Type.String({ minLength: 1, maxLength: 200 }) });

const FileQuery = Type.Object({
  purpose: Type.Optional(Type.String({ maxLength: 20 })),
  after: Type.Optional(Type.String({ maxLength: 200 })),
  limit: Type.Optional(Type.String({ maxLength: 10 })),
  order: Type.Optional(Type.String({ maxLength: 10 })),
});

/** The form of an upload, for the API reference; the server reads its parts as they arrive. */
export const UploadForm = Type.Object({
  purpose: Type.Enum([...FILE_PURPOSES]),
  expires_after: Type.Optional(
    Type.Object({
      anchor: Type.Literal('created_at'),
      seconds: Type.Integer({ minimum: FILE_LIFETIME_SECONDS.least, maximum: FILE_LIFETIME_SECONDS.most }),
    }),
  ),
});

/** The largest file with its form: a video of the default limit takes minutes on a slow line. */
const UPLOAD_LIMIT = 4 * 1024 ** 3;

const CONTENT_RESPONSE = {
  responseTypes: ['image/*', 'video/*', 'audio/*', 'application/jsonl'],
  responseStatuses: [200, 206, 304, 416],
} as const;

const ofKey = { tag: 'files', policy: 'model', envelope: 'model' } as const;

export const uploadFile = endpoint({
  ...ofKey,
  method: 'POST',
  path: '/v1/files',
  summary: 'Upload a file (OpenAI format): an image, a video, a sound, or the lines of a batch',
  accepts: 'upload',
  files: ['file'],
  bodyLimit: UPLOAD_LIMIT,
  body: UploadForm,
  response: FileObject,
});
export const listFiles = endpoint({
  ...ofKey,
  method: 'GET',
  path: '/v1/files',
  summary: 'List the files of the account, newest first',
  query: FileQuery,
  response: FileList,
});
export const getFile = endpoint({
  ...ofKey,
  method: 'GET',
  path: '/v1/files/:file_id',
  summary: 'Get a file',
  params: FileParam,
  response: FileObject,
});
export const deleteFile = endpoint({
  ...ofKey,
  method: 'DELETE',
  path: '/v1/files/:file_id',
  summary: 'Delete a file',
  params: FileParam,
  response: Type.Object({ id: Type.String(), object: Type.Literal('file'), deleted: Type.Literal(true) }),
});
export const getFileContent = endpoint({
  ...ofKey,
  method: 'GET',
  path: '/v1/files/:file_id/content',
  summary: 'Download a file; Range and HEAD work',
  params: FileParam,
  ...CONTENT_RESPONSE,
});
/** The address from which a vendor that takes no bytes fetches an input; see `FileLinks`. */
export const fetchFile = endpoint({
  method: 'GET',
  tag: 'files',
  policy: 'self',
  envelope: 'model',
  path: '/v1/files/:file_id/fetch',
  summary: 'Download a file by a short-lived signed URL, without a key',
  params: FileParam,
  query: Type.Object({
    expires: Type.String({ pattern: '^\\d{1,15}$' }),
    signature: Type.String({ minLength: 1, maxLength: 200 }),
  }),
  ...CONTENT_RESPONSE,
});

/** A file with a link that shows it in a browser, without the headers of a request. */
const OwnFile = Type.Object({
  ...FileObject.properties,
  url: Type.String({ description: 'A path of this service, valid for an hour.' }),
});
export type OwnFile = Static<typeof OwnFile>;
const OwnFileList = Type.Object({ ...FileList.properties, data: Type.Array(OwnFile) });

const ofAccount = { tag: 'files', policy: 'account', envelope: 'api' } as const;

export const uploadOwnFile = endpoint({
  organization: 'member',
  ...ofAccount,
  method: 'POST',
  path: '/api/files',
  summary: 'Upload a file by the account itself, without an API key',
  accepts: 'upload',
  files: ['file'],
  bodyLimit: UPLOAD_LIMIT,
  body: UploadForm,
  response: Ok(OwnFile),
});
export const listOwnFiles = endpoint({
  organization: 'member',
  ...ofAccount,
  method: 'GET',
  path: '/api/files',
  summary: 'Files of the account, newest first',
  query: FileQuery,
  response: Ok(OwnFileList),
});
export const getOwnFile = endpoint({
  organization: 'member',
  ...ofAccount,
  method: 'GET',
  path: '/api/files/:file_id',
  summary: 'One file of the account',
  params: FileParam,
  response: Ok(OwnFile),
});
export const deleteOwnFile = endpoint({
  organization: 'member',
  ...ofAccount,
  method: 'DELETE',
  path: '/api/files/:file_id',
  summary: 'Delete a file of the account',
  params: FileParam,
  response: Done,
});
