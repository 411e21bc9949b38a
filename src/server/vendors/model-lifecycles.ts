import type { ModelLifecycle } from './adapter.ts';

/** When the table was last reviewed; a test demands a new review after half a year. */
const CHECKED = '2026-11-28';

/**
 * Known lifecycles of a vendor's model: the announced ends, otherwise that it is active. `stage` is as of the review.
 */
export function lifecyclesOf(vendor: string, id: string): readonly ModelLifecycle[] {
  const ends = ENDS.filter((end) => end.id === id).map(({ id: _, ...end }) => ({
    ...end,
    // An unconfirmed end is not reported as past.
    stage: end.retiresOn <= CHECKED && end.confirmedOn !== null ? ('retired' as const) : ('deprecated' as const),
    checkedOn: CHECKED,
  }));
  const rest = ACTIVE.filter((row) => row.vendor === vendor && row.ids.includes(id)).filter(
    ({ route }) => !ends.some((end) => end.route === route),
  );
  return [
    ...ends,
    ...rest.map(({ route, source, confirmedOn }) => ({
      route,
      source,
      confirmedOn,
      stage: 'active' as const,
      checkedOn: CHECKED,
    })),
  ];
}

/**
 * Models that vendors serve, and models whose end they have announced, from their pages or from copies and quotations
 * of these. `confirmedOn` is the date of the source; null: no source that names the model was found, or only third
 * parties report its end.
 */

interface ActiveRow {
  readonly vendor: string;
  /** The host of the calls. */
  readonly route: string;
  readonly source: string;
  readonly confirmedOn: string | null;
  readonly ids: readonly string[];
}

interface EndRow {
  readonly id: string;
  /** The host on which the model ends; another host may continue to serve the same name. */
  readonly route: string;
  readonly retiresOn: string;
  readonly successor?: string;
  readonly source: string;
  readonly confirmedOn: string | null;
}

const KLING = {
  vendor: 'kling',
  route: 'api-singapore.klingai.com',
  source: 'https://app.klingai.com/global/dev/document-api',
};
const JIMENG = { vendor: 'jimeng', route: 'visual.volcengineapi.com', source: 'https://www.volcengine.com/docs/85621' };
const HAILUO = {
  vendor: 'hailuo',
  route: 'api.minimax.io',
  source: 'https://platform.minimax.io/docs/api-reference/video-generation-intro',
};
const ARK = {
  vendor: 'seedance',
  route: 'ark.cn-beijing.volces.com',
  source: 'https://www.volcengine.com/docs/82379/1330310',
};
const MODEL_ARK = {
  vendor: 'seedance',
  route: 'ark.ap-southeast.bytepluses.com',
  source: 'https://docs.byteplus.com/en/docs/ModelArk/1544106',
};
const WAN = {
  vendor: 'wan',
  route: 'dashscope.aliyuncs.com',
  source: 'https://help.aliyun.com/zh/model-studio/models',
};
const VERTEX = {
  vendor: 'veo',
  route: 'aiplatform.googleapis.com',
  source:
    'https://docs.cloud.google.com/gemini-enterprise-agent-platform/models/video/generate-videos-from-text.md.txt',
};
const GEMINI = {
  vendor: 'veo',
  route: 'generativelanguage.googleapis.com',
  source: 'https://ai.google.dev/gemini-api/docs/video',
};
const INTERACTIONS = { ...GEMINI, source: 'https://ai.google.dev/gemini-api/docs/omni' };
const VIDU = { vendor: 'vidu', route: 'api.vidu.com', source: 'https://platform.vidu.com/docs/text-to-video' };
const RUNWAY = {
  vendor: 'runway',
  route: 'api.dev.runwayml.com',
  source: 'https://docs.dev.runwayml.com/guides/models',
};

const XAI = { vendor: 'xai', route: 'api.x.ai', source: 'https://docs.x.ai/developers/model-capabilities/video' };

/** Models that are active, by route. */
export const ACTIVE: readonly ActiveRow[] = [
  // On the vendor's price page, as copied by github.com/aself101/kling-api on that day; older models are not on it.
  {
    ...KLING,
    source: 'https://kling.ai/document-api/pricing/base/video',
    confirmedOn: '2026-09-20',
    ids: ['kling-v2-5-turbo', 'kling-v2-6', 'kling-v3', 'kling-v3-turbo', 'kling-v3-omni', 'kling-video-o1'],
  },
  {
    ...KLING,
    confirmedOn: null,
    ids: ['kling-v1', 'kling-v1-5', 'kling-v1-6', 'kling-v2-master', 'kling-v2-1', 'kling-v2-1-master'],
  },
  {
    ...JIMENG,
    confirmedOn: '2026-11-20',
    ids: [
      'jimeng_v30',
      'jimeng_v30_1080p',
      'jimeng_v30_pro',
      'jimeng_s20_pro',
      'jimeng_t2v_v30',
      'jimeng_i2v_first_v30',
      'jimeng_i2v_first_tail_v30',
      'jimeng_i2v_recamera_v30',
      'jimeng_t2v_v30_1080p',
      'jimeng_i2v_first_v30_1080',
      'jimeng_i2v_first_tail_v30_1080',
      'jimeng_ti2v_v30_pro',
      'jimeng_vgfm_t2v_l20',
      'jimeng_vgfm_i2v_l20',
      'jimeng_t2i_v30',
      'jimeng_t2i_v31',
      'jimeng_t2i_v40',
      'jimeng_i2i_v30',
      'jimeng_seedream46_cvtob',
    ],
  },
  { ...HAILUO, confirmedOn: '2026-10-24', ids: ['MiniMax-H3'] },
  // Its limits were read on that day by a client that quotes the vendor's reference of version 2.
  { ...HAILUO, confirmedOn: '2026-10-05', ids: ['MiniMax-H3-Max'] },
  {
    ...HAILUO,
    confirmedOn: '2026-08-21',
    ids: [
      'MiniMax-Hailuo-2.3',
      'MiniMax-Hailuo-2.3-Fast',
      'MiniMax-Hailuo-02',
      'T2V-01',
      'T2V-01-Director',
      'I2V-01',
      'I2V-01-Director',
      'I2V-01-live',
      'S2V-01',
    ],
  },
  {
    ...ARK,
    confirmedOn: '2026-10-14',
    ids: [
      'doubao-seedance-2-0-260128',
      'doubao-seedance-2-0-fast-260128',
      'doubao-seedance-2-0-mini-260615',
      'doubao-seedance-2-5-260628',
    ],
  },
  // The vendor still lists a price; only its console shows whether a new account can activate the models.
  {
    ...ARK,
    confirmedOn: '2026-08-01',
    ids: [
      'doubao-seedance-1-0-pro-250528',
      'doubao-seedance-1-0-pro-fast-251015',
      'doubao-seedance-1-0-lite-t2v-250428',
      'doubao-seedance-1-0-lite-i2v-250428',
      'doubao-seedance-1-5-pro-251215',
    ],
  },
  {
    ...MODEL_ARK,
    confirmedOn: '2026-08-01',
    ids: [
      'seedance-1-0-pro-250528',
      'seedance-1-0-pro-fast-251015',
      'seedance-1-5-pro-251215',
      'dreamina-seedance-2-0-260128',
      'dreamina-seedance-2-0-fast-260128',
      'dreamina-seedance-2-0-mini-260615',
    ],
  },
  // From a copy of the vendor's guide of that model.
  {
    ...MODEL_ARK,
    source: 'https://docs.byteplus.com/en/docs/ModelArk/seedance-2-5',
    confirmedOn: '2026-11-22',
    ids: ['dreamina-seedance-2-5-260628'],
  },
  // Named by byteplus-sa/ComfyUI-BytePlus-ModelArk 0.9.0, of the vendor's solution architects; needs activation.
  { ...MODEL_ARK, confirmedOn: '2026-11-13', ids: ['dreamina-seedance-2-5-flash-261115'] },
  {
    ...WAN,
    confirmedOn: '2026-08-22',
    ids: [
      'wan2.7-t2v',
      'wan2.7-i2v',
      'wan2.7-r2v',
      'wan3.0-video',
      'happyhorse-1.1-t2v',
      'happyhorse-1.1-i2v',
      'happyhorse-1.1-r2v',
      'happyhorse-1.0-t2v',
      'happyhorse-1.0-i2v',
      'happyhorse-1.0-r2v',
    ],
  },
  // From a copy of the vendor's reference of that model.
  {
    ...WAN,
    source: 'https://www.alibabacloud.com/help/en/model-studio/wan-video-editing-api-reference',
    confirmedOn: '2026-10-22',
    ids: ['wan2.7-videoedit'],
  },
  {
    ...WAN,
    confirmedOn: '2026-08-21',
    ids: ['wan2.6-t2v', 'wan2.6-i2v', 'wan2.6-r2v', 'wan2.5-t2v-preview', 'wan2.5-i2v-preview'],
  },
  {
    ...WAN,
    confirmedOn: null,
    ids: [
      'wan2.6-i2v-flash',
      'wan2.2-t2v-plus',
      'wan2.2-i2v-plus',
      'wan2.2-i2v-flash',
      'wan2.2-kf2v-flash',
      'wanx2.1-t2v-turbo',
      'wanx2.1-t2v-plus',
      'wanx2.1-i2v-turbo',
      'wanx2.1-i2v-plus',
      'wanx2.1-kf2v-plus',
    ],
  },
  // Named by the gateway and the provider of the AI SDK (@ai-sdk/gateway 4.0.146, @ai-sdk/alibaba 1.0.61).
  { ...WAN, confirmedOn: '2026-11-21', ids: ['wan3.0-video-prime', 'wan2.6-r2v-flash'] },
  {
    ...VERTEX,
    confirmedOn: '2026-11-22',
    ids: ['veo-3.1-generate-001', 'veo-3.1-fast-generate-001', 'veo-3.1-lite-generate-001'],
  },
  // No longer on the list of that page, but no page was found that announces its end there.
  { ...VERTEX, confirmedOn: null, ids: ['veo-2.0-generate-001'] },
  // Named by release 2.1.0 of github.com/googleapis/java-genai on that day, which makes it the default for videos.
  { ...INTERACTIONS, confirmedOn: '2026-11-10', ids: ['gemini-omni-1.2-flash'] },
  { ...INTERACTIONS, confirmedOn: '2026-09-06', ids: ['gemini-omni-1.1-flash'] },
  {
    ...VIDU,
    confirmedOn: '2026-11-22',
    ids: ['viduq3-pro', 'viduq3-turbo', 'viduq3', 'viduq3-mix', 'viduq3-pro-fast', 'viduq2', 'viduq1'],
  },
  { ...VIDU, confirmedOn: '2026-08-21', ids: ['viduq2-pro', 'viduq2-turbo', 'viduq2-pro-fast'] },
  { ...VIDU, confirmedOn: null, ids: ['viduq1-classic', 'vidu2.0'] },
  { ...RUNWAY, confirmedOn: '2026-08-21', ids: ['gen4_turbo'] },
  // In the types of the vendor's SDK, @runwayml/sdk 4.20.1.
  {
    ...RUNWAY,
    source: 'https://github.com/runwayml/sdk-node',
    confirmedOn: '2026-11-28',
    ids: [
      ...['gen4.5', 'veo3.1', 'veo3.1_fast', 'aleph2', 'seedance2', 'seedance2_fast', 'seedance2_mini', 'seedance2_5'],
      ...['hailuo3', 'h3_max', 'wan3', 'wan3_prime', 'happyhorse_1_0', 'grok_imagine_1_5'],
      ...['gemini_omni_flash', 'gemini_omni_flash_1.1'],
    ],
  },
  // Named by the provider of the AI SDK, @ai-sdk/xai 5.0.12.
  { ...XAI, confirmedOn: '2026-11-28', ids: ['grok-imagine-video', 'grok-imagine-video-1.5'] },
];

const OMNI = 'gemini-omni-1.2-flash';
const onGemini = (id: string, retiresOn: string): EndRow => ({
  id,
  route: GEMINI.route,
  retiresOn,
  successor: OMNI,
  source: 'https://ai.google.dev/gemini-api/docs/deprecations',
  confirmedOn: '2026-11-06',
});
const onVertex = (id: string, successor: string): EndRow => ({
  id,
  route: VERTEX.route,
  retiresOn: '2026-06-30',
  successor,
  source: VERTEX.source,
  confirmedOn: '2026-11-22',
});
const onOpenAi = (id: string): EndRow => ({
  id,
  route: 'api.openai.com',
  retiresOn: '2026-09-24',
  source: 'https://github.com/openai/openai-openapi',
  confirmedOn: '2026-08-21',
});
/**
 * Reported only by docs.comfy.org/tutorials/partner-nodes/kling/kling-3-0; no page of the vendor was found that
 * confirms it.
 */
const onKling = (id: string): EndRow => ({
  id,
  route: KLING.route,
  retiresOn: '2026-09-15',
  successor: 'kling-v3',
  source: 'https://docs.comfy.org/tutorials/partner-nodes/kling/kling-3-0',
  confirmedOn: null,
});

/**
 * Reported only by docs.laozhang.ai/en/api-capabilities/wan-video-generation; no notice of the vendor was found that
 * confirms it.
 */
const onDashScope = (id: string, successor: string): EndRow => ({
  id,
  route: WAN.route,
  retiresOn: '2026-10-14',
  successor,
  source: 'https://docs.laozhang.ai/en/api-capabilities/wan-video-generation',
  confirmedOn: null,
});

/** Announced ends, by route. Unconfirmed ones are shown, but no request is refused because of them. */
const ENDS: readonly EndRow[] = [
  onGemini('veo-2.0-generate-001', '2026-06-30'),
  onGemini('veo-3.0-generate-001', '2026-06-30'),
  onGemini('veo-3.0-fast-generate-001', '2026-06-30'),
  onGemini('veo-3.1-generate-preview', '2026-10-22'),
  onGemini('veo-3.1-fast-generate-preview', '2026-10-22'),
  onGemini('veo-3.1-lite-generate-preview', '2026-10-22'),
  onVertex('veo-3.0-generate-001', 'veo-3.1-generate-001'),
  onVertex('veo-3.0-fast-generate-001', 'veo-3.1-fast-generate-001'),
  onOpenAi('sora-2'),
  onOpenAi('sora-2-pro'),
  onKling('kling-v1-5'),
  onKling('kling-v1-6'),
  onKling('kling-v2-1'),
  onKling('kling-v2-1-master'),
  onDashScope('wan2.6-t2v', 'wan2.7-t2v'),
  onDashScope('wan2.6-i2v', 'wan2.7-i2v'),
  onDashScope('wan2.6-i2v-flash', 'wan2.7-i2v'),
  onDashScope('wan2.6-r2v', 'wan2.7-r2v'),
];
