import type en from '../en/admin-service-status.ts';
import type { Translated } from '../namespaces.ts';

export default {
  title: '服务状态',
  allWell: '一切正常。',
  processes_one: '{{count}} 个进程',
  processes_other: '{{count}} 个进程',
  since: '开始于',
  act: '打开',
  blocked: '最近 24 小时被拒绝',
  nobodyBlocked: '没有因余额、权限或渠道而被拒绝的调用。',
  refused_one: '{{count}} 次调用',
  refused_other: '{{count}} 次调用',
  reasons: {
    quota_not_enough: '余额不足',
    model_not_allowed: '模型未获许可',
    upstream_unavailable: '没有可用渠道',
  },
  incidents: {
    vendor_down: {
      check: '供应商可用',
      name: '供应商无响应',
      advice: '十分钟内超过一半的调用失败。请将其模型分配到其他渠道；恢复后会自动重新使用。',
    },
    vendor_slow: {
      check: '供应商响应正常',
      name: '供应商响应缓慢',
      advice: '十分之一的提交和查询超过五秒。请降低其渠道的优先级。',
    },
    key_revoked: {
      check: '供应商密钥有效',
      name: '供应商拒绝密钥',
      advice: '此渠道的凭证错误、已撤销或已过期。请填入新凭证，然后点击测试。',
    },
    no_balance: {
      check: '供应商账号有余额',
      name: '供应商账号余额不足',
      advice: '请在供应商处充值，然后在渠道上点击测试。',
    },
    database_slow: {
      check: '数据库响应正常',
      name: '数据库响应缓慢',
      advice: 'SQL 平均耗时超过 100 毫秒，或在等待连接。请检查锁与磁盘负载。',
    },
    database_gone: {
      check: '数据库可用',
      name: '数据库无响应',
      advice: '需要数据库的请求返回 503。恢复数据库即可，无需重启服务。',
    },
    disk_nearly_full: {
      check: '磁盘空间充足',
      name: '磁盘即将写满',
      advice: '剩余空间不足十分之一。请清理或扩容；切勿删除 -wal、-shm 或日志文件。',
    },
    mail_server_gone: { check: '邮件服务器可用', name: '邮件服务器无响应', advice: '新邮箱和密码将等待其恢复。' },
    replica_frozen: {
      check: '进程运行正常',
      name: '有进程无响应',
      advice: '它异常退出或已停滞。请重启；随时终止都不会丢失数据。',
    },
    backlog_grows: {
      check: '视频按时检查',
      name: '视频未按时检查',
      advice: '已完成的视频没有结算。请先处理缓慢的供应商或数据库，否则增加进程。',
    },
    ledger_mismatch: {
      check: '账本平衡',
      name: '账本不平衡',
      advice: '上次审计发现差异。请先备份，然后打开账本检查。',
    },
    billing_difference: {
      check: '供应商账单与结算一致',
      name: '供应商账单与结算不符',
      advice: '该账号扣除的单位无法由视频解释，或扣除过少。请在“对账”中查看各次读数。',
    },
    webhook_target_dead: {
      check: 'Webhook 正常送达',
      name: 'Webhook 无法送达',
      advice: '有推送超时未送达。请告知 Webhook 的所有者；系统会在三天内重试。',
    },
  },
} satisfies Translated<typeof en>;
