"""The API's authorizer for the stage's kind of authentication, and the user pool for `cognito`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from aws_cdk import Aws, Duration, Fn
from aws_cdk import aws_apigatewayv2 as apigateway
from aws_cdk import aws_apigatewayv2_authorizers as authorizers
from aws_cdk import aws_cognito as cognito
from constructs import Construct

from infra.functions.python_function import PythonFunction, PythonRuntime
from infra.nag import acknowledge
from infra.settings.config import StageConfig
from infra.stores.encryption import removal_policy

RESOURCE_SERVER = "duecourse"
SCOPES = {
    "jobs:read": "Read jobs and runs",
    "jobs:write": "Create, change and run jobs; cancel and redrive runs",
    "ops": "Pause, resume and redrive many jobs and runs; read the state of the system",
}
TENANT = "tenant"


@dataclass(frozen=True, slots=True)
class ConsoleLogin:
    """The login to the console: the issuer and the client, the requested scope, and the origins that the page calls."""

    issuer: str
    client_id: str
    scope: str
    origins: tuple[str, ...]


class Auth(Construct):
    """The authorizer of all routes that require authorization; None if the stage's API has none. `login` is the login
    to the console, or None without a login or a console.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        config: StageConfig,
        runtime: PythonRuntime,
        consoles: Sequence[str],
    ) -> None:
        """`consoles` are the addresses to which the browser may return after a login."""
        super().__init__(scope, construct_id)
        self.users: Users | None = None
        self.authorizer: apigateway.IHttpRouteAuthorizer | None = None
        self.login: ConsoleLogin | None = None
        auth = config.auth
        if auth.kind == "iam":
            self.authorizer = authorizers.HttpIamAuthorizer()
        elif auth.kind == "jwt":
            if auth.issuer is None:  # StageConfig has rejected this already, but the type checker does not know
                raise ValueError("auth.issuer is missing")
            self.authorizer = authorizers.HttpJwtAuthorizer("Tokens", auth.issuer, jwt_audience=list(auth.audience))
            if auth.console_client is not None:
                parts = urlsplit(auth.issuer)
                origins = (f"{parts.scheme}://{parts.netloc}",)
                self.login = ConsoleLogin(auth.issuer, auth.console_client, auth.console_scope, origins)
        elif auth.kind == "cognito":
            self.users = Users(self, "Users", config=config, runtime=runtime, consoles=consoles)
            self.login = self.users.login
            clients = [self.users.client.user_pool_client_id, self.login.client_id]
            self.authorizer = authorizers.HttpJwtAuthorizer("Tokens", self.login.issuer, jwt_audience=clients)

    @property
    def outputs(self) -> dict[str, str]:
        """The values that operators need to add users and to get tokens."""
        if self.users is None:
            return {}
        return {
            "UserPoolId": self.users.pool.user_pool_id,
            "UserPoolClientId": self.users.client.user_pool_client_id,
            "UserPoolDomain": self.users.domain.base_url(),
        }


class Users(Construct):
    """People and programs with a password. Operators create each user with its tenant, and add it to the groups of its
    scopes. Users cannot sign up themselves.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        config: StageConfig,
        runtime: PythonRuntime,
        consoles: Sequence[str],
    ) -> None:
        super().__init__(scope, construct_id)
        self.claims = PythonFunction(
            self,
            "Claims",
            runtime=runtime,
            source="token_claims",
            description="Duecourse: puts tenant and scopes into access tokens",
            timeout_seconds=5,  # Cognito's timeout
            memory_mb=128,
            environment={},
        )
        self.pool = cognito.UserPool(
            self,
            "Pool",
            self_sign_up_enabled=False,
            sign_in_aliases=cognito.SignInAliases(email=True),
            sign_in_case_sensitive=False,
            auto_verify=cognito.AutoVerifiedAttrs(email=True),
            keep_original=cognito.KeepOriginalAttrs(email=True),  # a new address is valid after it was confirmed
            custom_attributes={TENANT: cognito.StringAttribute(min_len=1, max_len=64, mutable=True)},
            password_policy=cognito.PasswordPolicy(
                min_length=14, require_digits=True, require_lowercase=True, require_uppercase=True, require_symbols=True
            ),
            mfa=cognito.Mfa.OPTIONAL,
            mfa_second_factor=cognito.MfaSecondFactor(sms=False, otp=True),
            account_recovery=cognito.AccountRecovery.EMAIL_ONLY,
            feature_plan=cognito.FeaturePlan.ESSENTIALS,  # the cheapest plan with triggers for access tokens
            deletion_protection=config.refuses_deletion,
            removal_policy=removal_policy(retain=config.retain_data),
        )
        acknowledge(
            self.pool,
            "Programs sign in here too and have no second factor. Users can add a second factor (one-time "
            "passwords). A stage that requires one uses the issuer of the company's sign-in (-c issuer=...).",
            "COG2",
        )
        acknowledge(
            self.pool,
            "Threat protection needs the sign-ins of many users and multiplies the cost of each user. "
            "Only operators create users, passwords have 14 characters, and the API limits each tenant.",
            "COG8",
        )
        # V2_0 also applies to access tokens. By default, they contain no attributes, and scopes only after a login in a
        # browser.
        self.pool.add_trigger(
            cognito.UserPoolOperation.PRE_TOKEN_GENERATION_CONFIG, self.claims.function, cognito.LambdaVersion.V2_0
        )
        scopes = [cognito.ResourceServerScope(scope_name=name, scope_description=SCOPES[name]) for name in SCOPES]
        server = self.pool.add_resource_server("Api", identifier=RESOURCE_SERVER, scopes=scopes)
        for name, description in SCOPES.items():
            self.pool.add_group(name.title().replace(":", ""), group_name=name, description=description)
        # A caller who can write the attribute tenant could choose the tenant whose jobs to read.
        read = cognito.ClientAttributes().with_standard_attributes(email=True).with_custom_attributes(TENANT)
        write = cognito.ClientAttributes().with_standard_attributes(email=True)
        self.client = self.pool.add_client(
            "Client",
            generate_secret=False,  # commands on people's machines cannot keep one
            auth_flows=cognito.AuthFlow(user_password=True, user_srp=True),
            disable_o_auth=True,
            read_attributes=read,
            write_attributes=write,
            prevent_user_existence_errors=True,
            enable_token_revocation=True,
            access_token_validity=Duration.hours(1),
            id_token_validity=Duration.hours(1),
            refresh_token_validity=Duration.days(30),
        )
        self.domain = self.pool.add_domain(
            "Domain",
            cognito_domain=cognito.CognitoDomainOptions(
                domain_prefix=f"{config.stack_name.lower()}-{Aws.ACCOUNT_ID}"  # unique in the region
            ),
            managed_login_version=cognito.ManagedLoginVersion.NEWER_MANAGED_LOGIN,
        )
        browser = self.pool.add_client(
            "Console",
            generate_secret=False,  # a browser cannot keep a secret; PKCE replaces it
            auth_flows=cognito.AuthFlow(user_srp=True),
            o_auth=cognito.OAuthSettings(
                flows=cognito.OAuthFlows(authorization_code_grant=True),
                scopes=[
                    cognito.OAuthScope.OPENID,
                    *(cognito.OAuthScope.resource_server(server, each) for each in scopes),
                ],
                callback_urls=list(consoles),
                logout_urls=list(consoles),
            ),
            supported_identity_providers=[cognito.UserPoolClientIdentityProvider.COGNITO],
            read_attributes=read,
            write_attributes=write,
            prevent_user_existence_errors=True,
            enable_token_revocation=True,
            access_token_validity=Duration.hours(1),
            id_token_validity=Duration.hours(1),
            refresh_token_validity=Duration.days(1),
            # A copied refresh token is invalid this long after the page has renewed its own.
            refresh_token_rotation_grace_period=Duration.seconds(10),
        )
        cognito.CfnManagedLoginBranding(  # without it, the client's login page returns an error
            self,
            "Branding",
            user_pool_id=self.pool.user_pool_id,
            client_id=browser.user_pool_client_id,
            use_cognito_provided_values=True,
        )
        issuer = self.pool.user_pool_provider_url
        self.login = ConsoleLogin(
            issuer=issuer,
            client_id=browser.user_pool_client_id,
            scope=" ".join(["openid", *(f"{RESOURCE_SERVER}/{name}" for name in SCOPES)]),
            origins=(f"https://{Fn.select(2, Fn.split('/', issuer))}", self.domain.base_url()),
        )
