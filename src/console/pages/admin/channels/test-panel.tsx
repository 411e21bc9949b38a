import { Alert, Button, Code, Group, Text } from '@mantine/core';
import { IconAlertTriangle, IconCheck, IconPlugConnected } from '@tabler/icons-react';
import { useMutation } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';
import { useTranslation } from 'react-i18next';
import { testChannel } from '../../../../contract/channels.ts';
import { useRefresh } from '../../../data/admin.ts';
import { call } from '../../../data/client.ts';
import { Failure } from '../../../parts/failure.tsx';
import { ToButton } from '../frame/to-link.tsx';
import { toReason } from './reasons.ts';

interface TestPanelProps {
  readonly id: number;
  readonly isVideo: boolean;
  /** Tests at once, as after adding a channel. */
  readonly atOnce: boolean;
}

/** Asks the upstream whether the credentials work, and says what to do where they do not. */
export function TestPanel({ id, isVideo, atOnce }: TestPanelProps) {
  const { t } = useTranslation('upstreams');
  const refresh = useRefresh();
  const test = useMutation({
    mutationFn: async () => (await call(testChannel, { params: { id: String(id) } })).data,
    onSuccess: refresh,
  });
  const { mutate } = test;
  const begun = useRef(false);
  useEffect(() => {
    if (!atOnce || begun.current) return;
    begun.current = true;
    mutate();
  }, [atOnce, mutate]);
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
        <Failure error={test.error} />
        {result?.ok === true ? (
          <Alert color="teal" icon={<IconCheck />} title={t('test.works', { ms: result.duration_ms })}>
            {result.models.length > 0 ? (
              <Text size="sm" lineClamp={3}>
                {t('test.lists', { models: result.models.join(', ') })}
              </Text>
            ) : null}
            <Group gap="xs" mt="xs">
              {isVideo ? (
                <ToButton to="/studio" size="compact-sm">
                  {t('test.makeVideo')}
                </ToButton>
              ) : null}
              <ToButton to="/admin/models" size="compact-sm" variant="default">
                {t('test.checkPrices')}
              </ToButton>
            </Group>
          </Alert>
        ) : null}
        {result?.ok === false ? (
          <Alert color="red" icon={<IconAlertTriangle />} title={t(`reasons.${toReason(result.reason)}`)}>
            <Text size="sm">{t(`todo.${toReason(result.reason)}`)}</Text>
            <Text size="sm" mt="xs" style={{ overflowWrap: 'anywhere' }}>
              {t('test.said')} <Code>{[result.code, result.message].filter((each) => each !== '').join(': ')}</Code>
            </Text>
          </Alert>
        ) : null}
      </div>
    </>
  );
}
