import { Alert, Button, Code, Group, Text } from '@mantine/core';
import { IconAlertTriangle, IconCheck, IconPlugConnected } from '@tabler/icons-react';
import { useMutation } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';
import { useTranslation } from 'react-i18next';
import { testChannel } from '../../../../contract/channels.ts';
import { ErrorAlert } from '../../../components/error-alert.tsx';
import { RouteButton } from '../../../components/route-link.tsx';
import { callApi } from '../../../data/api-client.ts';
import { type ResponseData, useInvalidateQueries } from '../../../data/query-any-admin-endpoint.ts';
import { SuggestedModels } from './suggested-models.tsx';
import { toErrorReason } from './upstream-error-reason-codes.ts';

interface ConnectionTestProps {
  readonly id: number;
  readonly isVideo: boolean;
  /** Tests at once, as after adding a channel. */
  readonly runOnMount: boolean;
}

/** Tests the credentials against the upstream, and explains what to do when they do not work. */
export function ChannelTestPanel({ id, isVideo, runOnMount }: ConnectionTestProps) {
  const { t } = useTranslation('admin-channels');
  const invalidate = useInvalidateQueries();
  const test = useMutation({
    mutationFn: async () => (await callApi(testChannel, { params: { id: String(id) }, query: {} })).data,
    onSuccess: invalidate,
  });
  const { mutate } = test;
  const begun = useRef(false);
  useEffect(() => {
    if (!runOnMount || begun.current) return;
    begun.current = true;
    mutate();
  }, [runOnMount, mutate]);
  const result = test.data;
  return (
    <>
      <Group>
        <Button
          variant="default"
          leftSection={<IconPlugConnected size={16} />}
          loading={test.isPending}
          onClick={() => test.mutate()}
        >
          {t('test.action')}
        </Button>
        {result === undefined && !test.isPending ? (
          <Text size="sm" c="dimmed">
            {t('test.hint')}
          </Text>
        ) : null}
      </Group>
      <div role="status" style={{ marginTop: 12 }}>
        <ErrorAlert error={test.error} />
        {result?.ok === true ? <TestPassed result={result} isVideo={isVideo} /> : null}
        {result?.ok === false ? (
          <Alert color="red" icon={<IconAlertTriangle />} title={t(`reasons.${toErrorReason(result.reason)}`)}>
            <Text size="sm">{t(`advice.${toErrorReason(result.reason)}`)}</Text>
            <Text size="sm" mt="xs" style={{ overflowWrap: 'anywhere' }}>
              {t('test.said')} <Code>{[result.code, result.message].filter((each) => each !== '').join(': ')}</Code>
            </Text>
          </Alert>
        ) : null}
      </div>
      {result?.ok === true && result.suggested_models.length > 0 ? (
        <SuggestedModels key={test.submittedAt} channelId={id} models={result.suggested_models} />
      ) : null}
    </>
  );
}

interface TestPassedProps {
  readonly result: ResponseData<typeof testChannel>;
  readonly isVideo: boolean;
}

function TestPassed({ result, isVideo }: TestPassedProps) {
  const { t } = useTranslation('admin-channels');
  const { models, missing_models: missing, ending_models: ending, suggested_models: suggested } = result;
  return (
    <Alert color="teal" icon={<IconCheck />} title={t('test.works', { ms: result.duration_ms })}>
      {models.length > 0 && suggested.length === 0 ? (
        <Text size="sm" lineClamp={3}>
          {t('test.lists', { models: models.join(', ') })}
        </Text>
      ) : null}
      {missing.length > 0 ? (
        <Text size="sm" mt="xs">
          {t('test.missing', { models: missing.join(', ') })}
        </Text>
      ) : null}
      {ending.map(({ model, retires_on: day, successor, confirmed }) => (
        <Text size="sm" mt="xs" key={model}>
          {t(confirmed ? 'test.ends' : 'test.mayEnd', { model, day })}
          {successor === null ? null : ` ${t('test.successor', { successor })}`}
        </Text>
      ))}
      {isVideo || suggested.length === 0 ? (
        <Group gap="xs" mt="xs">
          {isVideo ? (
            <RouteButton to="/studio" size="compact-sm">
              {t('test.makeVideo')}
            </RouteButton>
          ) : null}
          <RouteButton to="/admin/models" size="compact-sm" variant="default">
            {t('test.checkPrices')}
          </RouteButton>
        </Group>
      ) : null}
    </Alert>
  );
}
