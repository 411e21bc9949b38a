import type { FileObject } from '../../contract/files.ts';
import * as endpoints from '../../contract/files.ts';
import { done, ok } from '../../contract/responses.ts';
import { limitedAuthorOf, ownerOf, promptReaderOf, type RouteRegistry } from '../platform/http/route-registry.ts';
import { sendFile, toFileRequest } from '../platform/http/streams.ts';
import type { FileService } from './file-service.ts';

/** Registers OpenAI's Files API for keys, and the same for the console. */
export function addFileRoutes(routes: RouteRegistry, files: FileService): void {
  routes.add(endpoints.uploadFile, ({ caller, request }) => files.create(ownerOf(caller), request));
  routes.add(endpoints.listFiles, ({ caller, query }) => files.list(promptReaderOf(caller), query));
  routes.add(endpoints.getFile, ({ caller, params }) => files.get(promptReaderOf(caller), params.file_id));
  routes.add(endpoints.deleteFile, async ({ caller, params: { file_id: id } }) => {
    await files.delete(promptReaderOf(caller), id, limitedAuthorOf(caller));
    return { id, object: 'file' as const, deleted: true as const };
  });
  routes.add(endpoints.getFileContent, async ({ caller, params, request, reply }) =>
    sendFile(reply, await files.open(promptReaderOf(caller), params.file_id, toFileRequest(request))),
  );
  routes.add(endpoints.fetchFile, async ({ params, query, request, reply }) => {
    const link = { expires: Number(query.expires), signature: query.signature };
    return sendFile(reply, await files.openByLink(params.file_id, link, toFileRequest(request)));
  });

  const own = (file: FileObject): endpoints.OwnFile => ({ ...file, url: files.linkTo(file.id) });
  routes.add(endpoints.uploadOwnFile, async ({ caller, request }) =>
    ok(own(await files.create(ownerOf(caller), request))),
  );
  routes.add(endpoints.listOwnFiles, async ({ caller, query }) => {
    const { data, ...page } = await files.list(promptReaderOf(caller), query);
    return ok({ ...page, data: data.map(own) });
  });
  routes.add(endpoints.getOwnFile, async ({ caller, params }) =>
    ok(own(await files.get(promptReaderOf(caller), params.file_id))),
  );
  routes.add(endpoints.deleteOwnFile, async ({ caller, params }) => {
    await files.delete(promptReaderOf(caller), params.file_id, limitedAuthorOf(caller));
    return done();
  });
}
