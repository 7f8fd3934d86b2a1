"""The names that spans use: OpenTelemetry's conventions for generative AI, and some of OpenInference. Pure data.

The conventions are all in development. Since May 2026 they have been in a repository of their own,
open-telemetry/semantic-conventions-genai; the names are those of its first release.
"""

from typing import Final

CONVENTIONS: Final = "v0.1.0"
# The latest that the manifest of the conventions was known to declare. It has the names below.
SCHEMA_URL: Final = "https://opentelemetry.io/schemas/gen-ai-dev/1.42.0-dev"

# -- operations, which are also the first word of a span's name

CHAT: Final = "chat"
INVOKE_AGENT: Final = "invoke_agent"
EXECUTE_TOOL: Final = "execute_tool"

# -- attributes of OpenTelemetry

OPERATION: Final = "gen_ai.operation.name"
PROVIDER: Final = "gen_ai.provider.name"
CONVERSATION: Final = "gen_ai.conversation.id"
AGENT_NAME: Final = "gen_ai.agent.name"
AGENT_VERSION: Final = "gen_ai.agent.version"
RESPONSE_MODEL: Final = "gen_ai.response.model"
FINISH_REASONS: Final = "gen_ai.response.finish_reasons"
INPUT_TOKENS: Final = "gen_ai.usage.input_tokens"
OUTPUT_TOKENS: Final = "gen_ai.usage.output_tokens"
CACHE_READ: Final = "gen_ai.usage.cache_read.input_tokens"
CACHE_WRITE: Final = "gen_ai.usage.cache_write.input_tokens"
REASONING: Final = "gen_ai.usage.reasoning.output_tokens"
TOOL_NAME: Final = "gen_ai.tool.name"
TOOL_TYPE: Final = "gen_ai.tool.type"
TOOL_CALL: Final = "gen_ai.tool.call.id"
ERROR_TYPE: Final = "error.type"
SERVICE: Final = "service.name"
# With content only.
INPUT_MESSAGES: Final = "gen_ai.input.messages"
OUTPUT_MESSAGES: Final = "gen_ai.output.messages"
TOOL_ARGUMENTS: Final = "gen_ai.tool.call.arguments"
TOOL_RESULT: Final = "gen_ai.tool.call.result"

FUNCTION: Final = "function"  # the type of all tools: the agent's client executes them
OTHER: Final = "_OTHER"  # an error of no known class
UNKNOWN: Final = "unknown"  # a provider that nobody names

# -- attributes of OpenInference, by which Phoenix shows kinds, models, tokens and sessions

OI_KIND: Final = "openinference.span.kind"
OI_SESSION: Final = "session.id"
OI_MODEL: Final = "llm.model_name"
OI_PROMPT: Final = "llm.token_count.prompt"
OI_COMPLETION: Final = "llm.token_count.completion"
OI_TOTAL: Final = "llm.token_count.total"
OI_CACHE_READ: Final = "llm.token_count.prompt_details.cache_read"
OI_CACHE_WRITE: Final = "llm.token_count.prompt_details.cache_write"
OI_REASONING: Final = "llm.token_count.completion_details.reasoning"
OI_COST: Final = "llm.cost.total"
OI_TOOL: Final = "tool.name"

# -- attributes of katod's own

SUBAGENT: Final = "katod.subagent.id"
NO_TIME: Final = "katod.time.unrecorded"  # the start or the end is that of another event
NO_RESULT: Final = "katod.tool.unanswered"  # no result was recorded

# What providers are called there, by what agents call them.
PROVIDERS: Final = {
    "anthropic": "anthropic", "openai": "openai", "openai-codex": "openai", "google": "gcp.gen_ai",
    "google-vertex": "gcp.vertex_ai", "vertex": "gcp.vertex_ai", "amazon-bedrock": "aws.bedrock",
    "bedrock": "aws.bedrock", "azure": "azure.ai.openai", "azure-openai": "azure.ai.openai", "cohere": "cohere",
    "deepseek": "deepseek", "groq": "groq", "mistral": "mistral_ai", "moonshot": "moonshot_ai",
    "moonshotai": "moonshot_ai", "perplexity": "perplexity", "xai": "x_ai", "x-ai": "x_ai",
}  # fmt: skip
# And by how names of models begin, where the agent names no provider.
MODELS: Final = (
    ("claude-", "anthropic"), ("gpt-", "openai"), ("codex-", "openai"), ("o1", "openai"), ("o3", "openai"),
    ("o4", "openai"), ("gemini-", "gcp.gemini"), ("grok", "x_ai"), ("kimi-", "moonshot_ai"), ("deepseek", "deepseek"),
    ("mistral", "mistral_ai"), ("command-", "cohere"),
)  # fmt: skip
# Why a model stopped, in the providers' words.
STOPS: Final = frozenset({
    "end_turn", "stop", "STOP", "stop_sequence", "max_tokens", "MAX_TOKENS", "length", "tool_use", "toolUse",
    "tool_calls", "tool-calls", "pause_turn", "refusal", "content_filter", "content-filter", "SAFETY", "error",
    "aborted",
})  # fmt: skip
# Classes of errors that agents name; all others are `_OTHER`.
ERRORS: Final = frozenset({
    "rate_limit", "rate_limit_error", "rate_limit_exceeded", "authentication_failed", "authentication_error",
    "invalid_request", "invalid_request_error", "timeout", "server_error", "api_error", "overloaded",
    "overloaded_error", "permission_error", "not_found_error", "billing_error", "context_length_exceeded",
})  # fmt: skip
