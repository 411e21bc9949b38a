import { LOCALES, type Locale } from '../../contract/messages/format-message.ts';
import { ok } from '../../contract/responses.ts';
import {
  getServiceStatus,
  type NotReadyReason,
  type OutageLevel,
  PRODUCT_AREAS,
  type ProductArea,
  statusFile,
  statusPage,
} from '../../contract/service.ts';
import { DAY_MS, toSeconds } from '../../contract/time-units.ts';
import { AppError } from '../platform/app-error.ts';
import type { Clock } from '../platform/clock.ts';
import type { Live, SiteSettings } from '../platform/config.ts';
import { html, languageLinks, type Markup, STANDALONE_PAGE_HEADERS, standalonePage } from '../platform/html.ts';
import type { RouteRegistry } from '../platform/http/route-registry.ts';
import { isResponsive, mergeInstanceAreas, mergeInstanceIncidents, type ServiceStatus } from './incidents.ts';
import { type AffectedAreas, allAreas, type Outage } from './outages.ts';

/** What the public status page shows. */
interface PublicStatus {
  readonly areas: AffectedAreas;
  /** Newest first. */
  readonly outages: readonly Outage[];
}

interface StatusPageContext {
  readonly locale: Locale;
  readonly siteName: string;
  /** IANA name; the page has no script that could know the reader's. */
  readonly timeZone: string;
}

/** The language of a page with `?lang=`. */
const localeOf = (lang: string | undefined, requested: Locale): Locale =>
  LOCALES.find((each) => each === lang) ?? requested;

/** Renders the status page for the users of the service. */
function renderStatusPage({ areas, outages }: PublicStatus, context: StatusPageContext): string {
  const { locale, siteName } = context;
  const texts = TEXTS[locale];
  const affected = Object.keys(areas).length;
  const sentence = affected === 0 ? texts.allWorks : affected === PRODUCT_AREAS.length ? texts.allAffected : texts.some;
  return standalonePage({
    locale,
    siteName,
    title: texts.title,
    nav: languageLinks(locale, texts.language, (each) => `/status?lang=${each}`),
    main: html`<section><h1>${texts.title}</h1>
<p class="${affected === 0 ? 'good' : 'warning'}"><strong>${sentence}</strong></p>
<dl>${PRODUCT_AREAS.map((area) => toAreaLine(area, areas[area], texts))}</dl>
<h2>${texts.history}</h2>
${outages.length === 0 ? html`<p>${texts.none}</p>` : html`<ul>${outages.map((each) => toOutageLine(each, context))}</ul>`}
</section>`,
    footer: texts.footer,
  });
}

/** Shapes that mark the states besides their colours. */
const MARKS = { works: '✓', limited: '!', down: '✕' } as const;

const toAreaLine = (area: ProductArea, level: OutageLevel | undefined, texts: StatusTexts): Markup =>
  html`<dt>${texts.areas[area]}</dt><dd>${
    level === undefined
      ? html`<span class="good">${MARKS.works} ${texts.works}</span>`
      : html`<span class="error">${MARKS[level]} ${texts.levels[level]}</span>`
  }</dd>`;

function toOutageLine({ area, level, started_at: from, ended_at: to }: Outage, context: StatusPageContext): Markup {
  const texts = TEXTS[context.locale];
  const times = timeFormat(context);
  const period = to === null ? texts.since(times.format(from)) : times.formatRange(from, to);
  return html`<li><strong>${texts.areas[area]}</strong>${texts.colon}${texts.levels[level]}<br>
<span class="note">${period}</span></li>`;
}

const timeFormat = ({ locale, timeZone }: StatusPageContext): Intl.DateTimeFormat =>
  new Intl.DateTimeFormat(locale, {
    month: 'short',
    day: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
    timeZone,
    timeZoneName: 'short',
  });

const EN = {
  language: 'Language',
  title: 'Service status',
  allWorks: 'Everything works.',
  some: 'Some functions are affected.',
  allAffected: 'The service is affected.',
  areas: { sign_in: 'Sign-in', video: 'Video and images', chat: 'Chat' } satisfies Record<ProductArea, string>,
  works: 'Works',
  levels: {
    limited: 'Limited: some calls fail or take longer',
    down: 'Unavailable: most or all calls fail',
  } satisfies Record<OutageLevel, string>,
  history: 'Incidents of the last 30 days',
  none: 'None.',
  colon: ': ',
  since: (from: string) => `since ${from}`,
  footer: 'Measured every half minute.',
};
type StatusTexts = typeof EN;

const TEXTS: Readonly<Record<Locale, StatusTexts>> = {
  en: EN,
  'zh-CN': {
    language: '语言',
    title: '服务状态',
    allWorks: '一切正常。',
    some: '部分功能受影响。',
    allAffected: '服务受影响。',
    areas: { sign_in: '登录', video: '视频与图片', chat: '对话' },
    works: '正常',
    levels: { limited: '受限：部分调用失败或变慢', down: '不可用：多数或全部调用失败' },
    history: '最近 30 天的故障',
    none: '无。',
    colon: '：',
    since: (from) => `${from} 起`,
    footer: '每半分钟检测一次。',
  },
};

/** Registers the status overview for administrators. */
export function addServiceStatusRoutes(
  routes: RouteRegistry,
  {
    operations: { instances, overview },
    clock,
  }: { readonly operations: Pick<ServiceStatus, 'instances' | 'overview'>; readonly clock: Clock },
): void {
  routes.add(getServiceStatus, async () => {
    const now = clock.now();
    const [rows, lastDay, dayBefore, blocked] = await Promise.all([
      instances.list(),
      overview.figures(now - DAY_MS, now),
      overview.figures(now - 2 * DAY_MS, now - DAY_MS),
      overview.blocked(now - DAY_MS),
    ]);
    return ok({
      incidents: mergeInstanceIncidents(rows, now).map((each) => ({ ...each, since: toSeconds(each.since) })),
      instances: rows.map((row) => ({
        name: row.name,
        version: row.version,
        started_at: toSeconds(row.started_at),
        seen_at: toSeconds(row.seen_at),
        is_alive: isResponsive(row, now),
      })),
      last_day: lastDay,
      day_before: dayBefore,
      blocked: blocked.map((row) => ({
        ...row,
        username: row.username ?? '',
        last_time: toSeconds(row.last_time),
      })),
    });
  });
}

interface StatusPageDependencies {
  readonly operations: Pick<ServiceStatus, 'instances' | 'outages'>;
  readonly clock: Clock;
  readonly site: Live<Pick<SiteSettings, 'statusPage' | 'siteName' | 'timeZone'>>;
  notReadyReason(): Promise<NotReadyReason | undefined>;
}

/** Registers the public status page. It names no vendor, channel, host or user, and does not exist unless enabled. */
export function addStatusPageRoutes(
  routes: RouteRegistry,
  { operations: { instances, outages }, clock, site, notReadyReason }: StatusPageDependencies,
): void {
  const read = async (): Promise<PublicStatus> => {
    if (!site.current().statusPage) throw new AppError('not_found');
    const reason = await notReadyReason();
    if (reason === 'database') return { areas: allAreas('down'), outages: [] };
    const now = clock.now();
    const [rows, past] = await Promise.all([instances.list(), outages.list(now)]);
    return { areas: reason === 'disk_full' ? allAreas('down') : mergeInstanceAreas(rows, now), outages: past };
  };
  routes.add(statusPage, async ({ query, request, reply }) =>
    reply
      .headers(STANDALONE_PAGE_HEADERS)
      .send(renderStatusPage(await read(), { ...site.current(), locale: localeOf(query.lang, request.locale) })),
  );
  routes.add(statusFile, async ({ reply }) => {
    const { areas, outages: past } = await read();
    reply.headers({ 'cache-control': 'no-store', 'access-control-allow-origin': '*' });
    return {
      areas: PRODUCT_AREAS.map((area) => ({ area, state: areas[area] ?? ('works' as const) })),
      incidents: past.map(({ area, level, started_at: from, ended_at: to }) => ({
        area,
        state: level,
        started_at: toSeconds(from),
        ended_at: to === null ? null : toSeconds(to),
      })),
    };
  });
}
