import {
  Anchor,
  Button,
  Grid,
  Paper,
  Select,
  SimpleGrid,
  Skeleton,
  Stack,
  Text,
  Textarea,
  TextInput,
} from '@mantine/core';
import { IconCode, IconPhoto } from '@tabler/icons-react';
import { useMutation, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { ownImageGenerations } from '../../../contract/model-calls.ts';
import { defined } from '../../../contract/objects.ts';
import { parseErrorResponse, ReelgateError } from '../../../sdk/errors.ts';
import { type ImageRequest, imageSamples } from '../../components/code-samples.ts';
import { CodeSamplesDialog } from '../../components/code-samples-dialog.tsx';
import { ErrorAlert } from '../../components/error-alert.tsx';
import { useListFilters } from '../../components/list/use-list-filters.ts';
import { byLabelOrValue, toModelOptions } from '../../components/model-name.tsx';
import { NumberField } from '../../components/number-field.tsx';
import { EmptyState, Page } from '../../components/page.tsx';
import { useFormValues } from '../../components/save-form.tsx';
import { SegmentedControl } from '../../components/segmented-control.tsx';
import { sendRequest } from '../../data/api-client.ts';
import { usableModelsQuery } from '../../data/self.ts';
import { ChatPlayground } from './chat-playground.tsx';

/** Playground for chat and image models; calls are charged as usual. */
export function PlaygroundPage() {
  const { t } = useTranslation(['playground', 'app']);
  const filters = useListFilters(['mode']);
  const mode = filters.value.mode === 'images' ? 'images' : 'chat';
  return (
    <Page
      title={t('app:pages.playground')}
      subtitle={t('lead')}
      actions={
        <SegmentedControl
          aria-label={t('mode')}
          value={mode}
          onChange={(value) => filters.set('mode', value === 'chat' ? undefined : value)}
          data={(['chat', 'images'] as const).map((value) => ({ value, label: t(`modes.${value}`) }))}
        />
      }
    >
      {mode === 'chat' ? <ChatPlayground /> : <ImagePlayground />}
    </Page>
  );
}

interface GeneratedImage {
  readonly url?: string;
  readonly b64_json?: string;
}
interface Generated {
  readonly images: readonly GeneratedImage[];
  readonly requestId: string | undefined;
}

/** Generates images from text. */
function ImagePlayground() {
  const { t } = useTranslation('playground');
  const models = useQuery(usableModelsQuery);
  const [code, setCode] = useState(false);
  const { draft, text, value } = useFormValues({
    model: null as string | null,
    prompt: '',
    size: '',
    count: 1 as number | string,
  });
  const imageModels = (models.data ?? []).filter(({ kind, permitted }) => kind === 'image' && permitted);
  const model = draft.model ?? imageModels[0]?.id ?? '';
  const body: ImageRequest = defined({
    model,
    prompt: draft.prompt.trim(),
    n: Number(draft.count) || 1,
    size: draft.size.trim() === '' ? undefined : draft.size.trim(),
  });
  const generate = useMutation({ mutationFn: () => generateImages(body) });
  const isReady = body.model !== '' && body.prompt !== '';
  return (
    <Grid gap="lg">
      <Grid.Col span={{ base: 12, md: 4, lg: 3 }}>
        <Paper withBorder p="md">
          <Stack gap="sm">
            <Select
              label={t('model')}
              data={toModelOptions(imageModels)}
              filter={byLabelOrValue}
              searchable
              allowDeselect={false}
              placeholder={t('chooseModel')}
              nothingFoundMessage={t('noModel')}
              {...value('model')}
              value={model === '' ? null : model}
            />
            <Textarea label={t('prompt')} autosize minRows={3} maxRows={10} {...text('prompt')} />
            <TextInput label={t('size')} placeholder="1024x1024" {...text('size')} />
            <NumberField label={t('count')} min={1} max={10} allowDecimal={false} {...value('count')} />
            <Button loading={generate.isPending} disabled={!isReady} onClick={() => generate.mutate()}>
              {t('generate')}
            </Button>
            <Button
              variant="default"
              leftSection={<IconCode size={16} />}
              disabled={!isReady}
              onClick={() => setCode(true)}
            >
              {t('code')}
            </Button>
          </Stack>
        </Paper>
      </Grid.Col>
      <Grid.Col span={{ base: 12, md: 8, lg: 9 }} aria-live="polite">
        <ErrorAlert error={generate.error} />
        {generate.isPending ? <Skeleton h={320} radius="lg" /> : null}
        {generate.data === undefined && !generate.isPending && generate.error === null ? (
          <EmptyState icon={<IconPhoto size={28} />} title={t('noImages')}>
            {t('noImagesText')}
          </EmptyState>
        ) : null}
        {generate.data === undefined || generate.isPending ? null : <Results {...generate.data} prompt={body.prompt} />}
      </Grid.Col>
      {code ? (
        <CodeSamplesDialog
          title={t('code')}
          hint={t('codeHint')}
          samples={imageSamples(body, location.origin)}
          onClose={() => setCode(false)}
        />
      ) : null}
    </Grid>
  );
}

async function generateImages(body: ImageRequest): Promise<Generated> {
  const response = await sendRequest(ownImageGenerations, { body });
  const answer = (await response.json().catch(() => undefined)) as
    | { readonly data?: readonly GeneratedImage[] }
    | undefined;
  const failure = parseErrorResponse(response.status, response.headers, answer);
  if (failure !== undefined) throw failure;
  if (!Array.isArray(answer?.data))
    throw new ReelgateError('The answer has no images.', { status: response.status, code: 'not_json' });
  return { images: answer.data, requestId: response.headers.get('x-request-id') ?? undefined };
}

function Results({ images, requestId, prompt }: Generated & { readonly prompt: string }) {
  const { t } = useTranslation('playground');
  return (
    <Stack>
      <SimpleGrid cols={{ base: 1, sm: images.length > 1 ? 2 : 1 }}>
        {images.map(({ url, b64_json: data }, index) =>
          data === undefined ? (
            // Images on other hosts are linked instead of loaded, so that they do not learn about the user.
            // biome-ignore lint/suspicious/noArrayIndexKey: images have no other name
            <Anchor key={index} href={safeUrl(url)} target="_blank" rel="noopener noreferrer">
              {t('openImage', { number: index + 1 })}
            </Anchor>
          ) : (
            <img
              // biome-ignore lint/suspicious/noArrayIndexKey: images have no other name
              key={index}
              src={`data:image/png;base64,${data}`}
              alt={prompt}
              style={{ maxWidth: '100%', borderRadius: 12 }}
            />
          ),
        )}
      </SimpleGrid>
      {requestId === undefined ? null : (
        <Text size="xs">
          <Anchor
            size="xs"
            renderRoot={(props) => <Link to="/account/receipts/$id" params={{ id: requestId }} {...props} />}
          >
            {t('receipt')}
          </Anchor>
        </Text>
      )}
    </Stack>
  );
}

/** Accepts http(s) URLs only: the upstream supplies the URL, and a `javascript:` URL must not run. */
const safeUrl = (url: string | undefined): string => (url !== undefined && /^https?:\/\//i.test(url) ? url : '#');
