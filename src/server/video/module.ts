import type { AccountAccess } from '../accounts/account-store.ts';
import type { AuditLog } from '../accounts/audit-log.ts';
import type { CredentialRevocationWatch } from '../accounts/credential-watch.ts';
import type { FindAuthors } from '../accounts/memberships.ts';
import type { PasswordHasher } from '../accounts/passwords.ts';
import type { VideoSources } from '../artifacts/artifact-copier.ts';
import type { Artifacts } from '../artifacts/module.ts';
import type { ChannelDirectory } from '../channels/directory.ts';
import type { EventWriter } from '../event-log/event-log.ts';
import type { AdminNotifier, Notifier } from '../notifications/notifier.ts';
import type { AffordableCallCounts } from '../plans/affordable-calls.ts';
import type { FindPlanTerms } from '../plans/plan-store.ts';
import type { Clock } from '../platform/clock.ts';
import type { Live } from '../platform/config.ts';
import type { Database } from '../platform/db/database.ts';
import type { PubSub } from '../platform/db/pub-sub.ts';
import type { RouteRegistry } from '../platform/http/route-registry.ts';
import type { ApiKeyLimiter, RateLimits } from '../platform/limits/rate-limits.ts';
import type { Log } from '../platform/log.ts';
import type { OutboundClient } from '../platform/outbound/outbound.ts';
import type { ScheduledJob } from '../platform/scheduled-jobs.ts';
import type { Tracing } from '../platform/tracing/tracing.ts';
import type { Vault } from '../platform/vault.ts';
import type { Allowances, Ledger } from '../quota/ledger.ts';
import type { Tables } from '../tables.ts';
import { TaskUpstreams, UpstreamCalls } from '../upstreams/upstream.ts';
import type { VendorRegistry } from '../vendors/registry.ts';
import type { UrlCheck } from '../webhooks/endpoints.ts';
import { addReconciliationRoutes, addTaskAdminRoutes, type LedgerHistory } from './admin-routes.ts';
import { AttemptRunner, ChannelTaskLimitStore, FailedAttemptRecorder, TaskLimitStore } from './attempts.ts';
import { addCollectionRoutes, CollectionStore, FavouriteStore } from './collections.ts';
import { AccelRedirect, ContentDelivery, DownloadSlots, PlayLinks } from './content.ts';
import { addContentRoutes, addPosterRoutes, addSharePageRoutes, addShareRoutes } from './content-routes.ts';
import { VendorVideoDeletion, VideoDeletion } from './deletion.ts';
import { TaskRenderer } from './formats.ts';
import { RequestReader } from './generation-request.ts';
import { Idempotency } from './idempotency.ts';
import { type FindInputFile, InputResolver, SourceVideos } from './input-resolver.ts';
import { addModelRoutes, addVideoModelRoutes } from './model-routes.ts';
import { makePollScheduler, type PollScheduler } from './poll-scheduler.ts';
import { RefreshingTaskReader, ResultCheck, TaskFollower, TaskPoller } from './poller.ts';
import {
  DifferenceNotices,
  Reconciliation,
  type ReconciliationDependencies,
  ReconciliationStore,
} from './reconciliation.ts';
import { addConsoleVideoRoutes, addFavouriteRoutes, addOwnerVideoRoutes, addVideoRoutes } from './routes.ts';
import { ShareAccess, ShareService, ShareStore } from './shares.ts';
import { PriceQuoteService, SubmitService } from './submit.ts';
import { type OnFaultPoint, TaskCompletion } from './task-completion.ts';
import { TaskQueue } from './task-queue.ts';
import { DurationStatistics, OpenTaskStatistics, TaskAdminStore } from './task-reports.ts';
import { type Task, TaskStore } from './task-store.ts';
import { Base64VideoCache, createVideoCopySources, UrlRefresher, VendorFiles } from './vendor-files.ts';
import { addVendorCompatibleRoutes, addVendorFormatRoutes } from './vendor-format-routes.ts';
import { ModelChoice, VideoModels } from './video-models.ts';

interface VideoDependencies {
  readonly tracing: Tracing;
  readonly database: Database<Tables>;
  readonly quota: Ledger;
  readonly allowances: Allowances;
  /** The balance an account can still spend, for quotes. */
  readonly outlook: Pick<AffordableCallCounts, 'of'>;
  readonly channels: ChannelDirectory & ReconciliationDependencies['channels'];
  readonly vendors: VendorRegistry;
  readonly ledgerHistory: LedgerHistory;
  readonly notifier: Notifier & AdminNotifier;
  readonly events: EventWriter;
  readonly artifacts: Artifacts;
  /** Rejects a callback_url to which no callback would be delivered. */
  readonly checkCallbackUrl: UrlCheck;
  readonly outbound: OutboundClient;
  readonly pubSub: PubSub;
  readonly clock: Clock;
  readonly log: Log;
  readonly access: AccountAccess;
  readonly findAuthors: FindAuthors;
  readonly credentialWatch: CredentialRevocationWatch;
  readonly passwords: PasswordHasher;
  readonly rateLimits: RateLimits;
  readonly auditLog: AuditLog;
  readonly vault: Vault;
  readonly keyLimiter: ApiKeyLimiter;
  readonly findPlanTerms: FindPlanTerms;
  readonly findPlanLevel: (userId: number) => Promise<number>;
  /** Finds uploaded files that are inputs of videos. */
  readonly inputFinders?: readonly FindInputFile[];
  readonly masterKey: Buffer;
  readonly baseUrl: string;
  /** Addresses of nginx instances that send stored videos themselves. */
  readonly accelProxies: readonly string[];
  readonly site: Live<{ readonly siteName: string; readonly defaultVideoModel: string | undefined }>;
  readonly newTaskId: () => string;
  readonly syncPeriodMs: number;
  readonly ambiguousTtlMs: number;
  readonly taskTimeoutMs: number;
  readonly submitVisibilityMs: number;
  /** Aborted when the service stops. */
  readonly stopping: AbortSignal;
  /** Named points between the steps that move money; tests stop the process there. */
  readonly faultPoint: OnFaultPoint;
}

/** The video capability, as other capabilities use it. */
export interface Video {
  readonly reconciliations: ReconciliationStore;
  readonly reconciliation: Pick<Reconciliation, 'states'>;
  readonly jobs: readonly ScheduledJob[];
  readonly store: TaskStore;
  readonly adminStore: TaskAdminStore;
  readonly upstreamCalls: UpstreamCalls;
  readonly pollScheduler: PollScheduler;
  readonly queue: TaskQueue;
  readonly figures: OpenTaskStatistics;
  /** Opens files of finished videos at their vendors. */
  readonly sources: VideoSources;
  /** The services behind the endpoints, for other ways to call them. */
  readonly services: {
    readonly requests: RequestReader;
    readonly submitter: SubmitService;
    readonly quotes: PriceQuoteService;
    readonly reader: RefreshingTaskReader;
    readonly follower: TaskFollower;
    readonly renderer: TaskRenderer;
    readonly models: VideoModels;
    readonly playLinks: PlayLinks;
  };
  /** Number of downloads in progress. */
  readonly openDownloads: number;
  /**
   * Deletes expired idempotency keys and share links, and corrects poll times after a clock change. Called every
   * minute.
   */
  maintain(): Promise<void>;
  /** Starts waiting videos and polls unfinished ones until `stop`. */
  start(): void;
  stop(): Promise<void>;
}

/** Assembles the video capability and registers its routes. */
export function makeVideo(routes: RouteRegistry, dependencies: VideoDependencies): Video {
  const { database, clock, log, vendors, channels, credentialWatch, syncPeriodMs, stopping } = dependencies;
  const store = new TaskStore(database);
  const adminStore = new TaskAdminStore(database);
  const upstreamCalls = new UpstreamCalls(dependencies.outbound, clock);
  const upstreams = new TaskUpstreams({ accounts: channels, adapters: vendors, calls: upstreamCalls });
  const shared = { ...dependencies, store, upstreamCalls, upstreams };

  const completion = new TaskCompletion(shared);
  const urlRefresher = new UrlRefresher(shared);
  const inlineFileCache = new Base64VideoCache(stopping);
  const vendorFiles = new VendorFiles({ ...shared, urlRefresher, inlineFileCache });
  const results = new ResultCheck({ vendorFiles, log });
  const retryLost = (task: Task): Promise<boolean> => queue.retryLost(task);
  const vendorDeletion = new VendorVideoDeletion(shared);
  const stopJob = (task: Task): void => vendorDeletion.start(task);
  const poller = new TaskPoller({ ...shared, completion, results, retryLost, stopJob });
  const pollScheduler = makePollScheduler({ ...dependencies, poller, periodMs: syncPeriodMs });

  const downloadSlots = new DownloadSlots();
  const { storedFiles } = dependencies.artifacts;
  const contentDelivery = new ContentDelivery({ ...shared, vendorFiles, storedFiles, urlRefresher, downloadSlots });
  const shares = new ShareStore(database);
  const playLinks = new PlayLinks(dependencies.masterKey);

  const submission = makeSubmission({ ...shared, adminStore, completion, contentDelivery, playLinks });
  const { queue, submitter, quotes } = submission;
  const reader = new RefreshingTaskReader({ ...shared, poller, urlRefresher, queue });
  const videoDeletion = new VideoDeletion({ ...shared, shares, vendorDeletion, queue });

  const renderer = new TaskRenderer(vendors, dependencies.baseUrl);
  const requests = new RequestReader(submission);
  const follower = new TaskFollower(reader);
  addVideoRoutes(routes, { ...shared, ...submission, reader, renderer, videoDeletion, requests, follower });
  addVendorFormatRoutes(routes, { submitter, reader, renderer, channels });
  addVendorCompatibleRoutes(routes, { submitter, reader, store, channels });
  addModelRoutes(routes, dependencies);
  const accelRedirect = new AccelRedirect(dependencies.accelProxies);
  addContentRoutes(routes, { store, reader, contentDelivery, playLinks, accelRedirect, credentialWatch, clock });
  const durations = new DurationStatistics(database, clock);
  const models = new VideoModels({ ...dependencies, durations });
  addVideoModelRoutes(routes, models);
  addConsoleVideoRoutes(routes, { quotes, store, submitter, videoDeletion, queue, durations, channels });
  addFavouriteRoutes(routes, { store, favourites: new FavouriteStore(database) });
  addCollectionRoutes(routes, { collections: new CollectionStore(database), clock });
  addOwnerVideoRoutes(routes, { ...shared, reader, playLinks, queue });
  addPosterRoutes(routes, shared);
  addShareRoutes(routes, new ShareService({ ...shared, shares }));
  addSharePageRoutes(routes, { ...shared, contentDelivery, access: new ShareAccess({ ...shared, shares }) });
  const { reconciliations, reconciliation } = makeReconciliation(routes, dependencies, upstreamCalls);
  addTaskAdminRoutes(routes, { ...shared, store: adminStore, queue });

  return {
    store,
    adminStore,
    upstreamCalls,
    pollScheduler,
    queue,
    reconciliations,
    reconciliation,
    jobs: [reconciliation.job],
    figures: new OpenTaskStatistics(database, clock),
    sources: createVideoCopySources({ store, vendors, vendorFiles }),
    services: { requests, submitter, quotes, reader, follower, renderer, models, playLinks },
    get openDownloads() {
      return downloadSlots.size;
    },
    start() {
      pollScheduler.start();
      queue.start();
    },
    async stop() {
      await queue.stop();
      await pollScheduler.stop();
    },
    maintain: async () => {
      await Promise.all([submission.maintain(), pollScheduler.limitPollTimes(), shares.deleteEnded(clock.now())]);
    },
  };
}

interface SubmissionDependencies extends VideoDependencies {
  readonly store: TaskStore;
  readonly adminStore: TaskAdminStore;
  readonly upstreamCalls: UpstreamCalls;
  readonly completion: TaskCompletion;
  readonly contentDelivery: ContentDelivery;
  readonly playLinks: PlayLinks;
}

/** Assembles the path of a request to its vendor, directly or through the queue. */
function makeSubmission(dependencies: SubmissionDependencies) {
  const { database, store, adminStore, clock, log, stopping, inputFinders = [] } = dependencies;
  const idempotency = new Idempotency(database, store, clock);
  const failedAttemptRecorder = new FailedAttemptRecorder(adminStore, clock, log, stopping);
  const slots = new ChannelTaskLimitStore(database);
  const attempts = new AttemptRunner({ ...dependencies, failedAttemptRecorder, slots });
  const inputs = new InputResolver({
    ...dependencies,
    finders: [new SourceVideos(dependencies).find, ...inputFinders],
  });
  const modelChoice = new ModelChoice(dependencies);
  const limits = new TaskLimitStore(database);
  const shared = { ...dependencies, slots, limits, inputs, attempts };
  const queue = new TaskQueue(shared);
  const submitter = new SubmitService({ ...shared, idempotency, queue, modelChoice });
  const quotes = new PriceQuoteService(submitter, dependencies.outlook);
  const maintain = () => Promise.all([idempotency.removeExpired(), queue.maintain()]);
  return { queue, submitter, quotes, inputs, modelChoice, maintain };
}

function makeReconciliation(
  routes: RouteRegistry,
  dependencies: VideoDependencies,
  upstreamCalls: UpstreamCalls,
): Pick<Video, 'reconciliations'> & { readonly reconciliation: Reconciliation } {
  const { database, vendors, channels, clock, log } = dependencies;
  const reconciliations = new ReconciliationStore(database);
  const reconciliation = new Reconciliation({
    store: reconciliations,
    vendors,
    contexts: upstreamCalls,
    channels,
    notices: new DifferenceNotices(dependencies),
    clock,
    log,
  });
  addReconciliationRoutes(routes, { reconciliation, store: reconciliations, channels });
  return { reconciliations, reconciliation };
}
