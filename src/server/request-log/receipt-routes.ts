import { getReceipt, getTokenReceipt, getVideoReceipt } from '../../contract/receipts.ts';
import { ok } from '../../contract/success-bodies-and-pagination.ts';
import { AppError, notExistError } from '../platform/app-error.ts';
import type { RouteRegistry } from '../platform/http/route-registry.ts';
import type { ReceiptService } from './receipt-service.ts';

export interface ReceiptRouteDependencies {
  readonly receipts: ReceiptService;
  /** Internal id of a video the token submitted. */
  readonly findVideo: (publicId: string, tokenId: number) => Promise<string | undefined>;
}

/** Receipts of calls and videos. */
export function addReceiptRoutes(routes: RouteRegistry, { receipts, findVideo }: ReceiptRouteDependencies): void {
  routes.add(getReceipt, async ({ params, caller }) => {
    const receipt = await receipts.find(params.ref, caller.role === 'user' ? caller.userId : undefined);
    if (receipt === undefined) throw notExistError('receipt');
    return ok(receipt);
  });

  routes.add(getTokenReceipt, async ({ params, caller }) => {
    const receipt = await receipts.find(params.ref, caller.userId, caller.tokenId);
    if (receipt === undefined) throw notExistError('receipt');
    return receipt;
  });

  routes.add(getVideoReceipt, async ({ params, caller }) => {
    const id = await findVideo(params.task_id, caller.tokenId);
    const receipt = id === undefined ? undefined : await receipts.find(id, caller.userId);
    if (receipt === undefined) throw new AppError('task_not_exist');
    return receipt;
  });
}
