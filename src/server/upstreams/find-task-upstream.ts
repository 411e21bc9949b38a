import type { AdapterContext, UpstreamAccount, UpstreamCalls } from './adapter-context.ts';

/** Where a task runs, as stored in its row. */
export interface UpstreamTask<Vendor extends string> {
  readonly vendor: Vendor;
  /** The account that holds it. */
  readonly channel_id: number | null;
  /** Which credential of the account submitted it. */
  readonly credential_id: number | null;
  /** JSON the adapter gave when the task was accepted; null before. */
  readonly handle: string | null;
}

export interface TaskUpstreamsDependencies<Vendor extends string, Adapter, Account extends UpstreamAccount> {
  readonly accounts: { byId(id: number, credentialId: number | null): Promise<Account | undefined> };
  readonly adapters: { get(vendor: Vendor): Adapter };
  readonly calls: UpstreamCalls;
}

/** Finds for a task the adapter of its vendor and the account that holds it: what polling, content and deletion call. */
export class TaskUpstreams<Vendor extends string, Adapter, Account extends UpstreamAccount> {
  readonly #accounts: TaskUpstreamsDependencies<Vendor, Adapter, Account>['accounts'];
  readonly #adapters: TaskUpstreamsDependencies<Vendor, Adapter, Account>['adapters'];
  readonly #calls: UpstreamCalls;

  constructor({ accounts, adapters, calls }: TaskUpstreamsDependencies<Vendor, Adapter, Account>) {
    this.#accounts = accounts;
    this.#adapters = adapters;
    this.#calls = calls;
  }

  /** Undefined once the account has been removed. */
  async find(task: UpstreamTask<Vendor>): Promise<TaskUpstream<Adapter, Account> | undefined> {
    const { channel_id: id, credential_id: credentialId } = task;
    const account = id === null ? undefined : await this.#accounts.byId(id, credentialId);
    return account && new TaskUpstream(this.adapterOf(task), account, task.handle, this.#calls);
  }

  adapterOf(task: Pick<UpstreamTask<Vendor>, 'vendor'>): Adapter {
    return this.#adapters.get(task.vendor);
  }
}

/** The upstream of one task. */
export class TaskUpstream<Adapter, Account extends UpstreamAccount> {
  readonly adapter: Adapter;
  readonly account: Account;
  /** Whether the vendor has confirmed the task, so that it can be called about it. */
  readonly isConfirmed: boolean;
  readonly #handle: string | null;
  readonly #calls: UpstreamCalls;

  constructor(adapter: Adapter, account: Account, handle: string | null, calls: UpstreamCalls) {
    this.adapter = adapter;
    this.account = account;
    this.isConfirmed = handle !== null;
    this.#handle = handle;
    this.#calls = calls;
  }

  /**
   * Runs one call of the adapter about this task, which throws what the adapter throws.
   * @param signal aborts the requests of the call
   * @param run is given the adapter, the stored handle (null while the task is unconfirmed) and the context for the account
   */
  call<Result>(
    signal: AbortSignal,
    run: (adapter: Adapter, handle: Handle, context: AdapterContext) => Promise<Result>,
  ): Promise<Result> {
    return run(
      this.adapter,
      JSON.parse(this.#handle ?? 'null') as Handle,
      this.#calls.contextFor(this.account, signal),
    );
  }
}

/** Opaque to all code but the adapter that made it. */
type Handle = null | boolean | number | string | readonly Handle[] | { readonly [key: string]: Handle };
